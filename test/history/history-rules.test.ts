/**
 * Tests the rules of histories: a correct history passes, and for each rule there is a minimal
 * history that breaks it.
 */
import { describe, expect, it } from 'vitest';
import { judgeHistory, report } from '../helpers/history/judge.ts';
import { Truth } from '../helpers/history/truth.ts';
import { handlerRecord, history, listRecord, states, watchRecord, writes } from './notation.ts';

/**
 * a, b and c are created and deleted; the informer lists at 2, watches, is cut at 5, and has to
 * relist at 9.
 */
const truth = writes('a1 b2 c3 a4 -b5 b6 -b7 a8 d9 c10');
const requests = () => [
  listRecord('2', 'a1 b2'),
  watchRecord(truth, '2', 'c3 *3 a4'),
  watchRecord(truth, '4', '-b5 *5'),
  watchRecord(truth, '5', '!410'),
  listRecord('9', 'a8 c3 d9'),
  watchRecord(truth, '9', 'c10 *10'),
];
const story = 'c3 a1>4 -b5 a4>8 c3>3 d9 c3>10';
const rulesBroken = (...args: Parameters<typeof history>) => [
  ...new Set(judgeHistory(args[0], history(...args)).map(({ rule }) => rule)),
];

/** The history above with other notifications of its handler. */
const toldInstead = (rest: string, initial = 'a1 b2', options = {}) =>
  rulesBroken(truth, requests(), [handlerRecord(truth, initial, rest, options)]);

describe('a correct history', () => {
  it('passes: list, watches, a relist after the history has expired', () => {
    expect(
      judgeHistory(truth, history(truth, requests(), [handlerRecord(truth, 'a1 b2', story)])),
    ).toEqual([]);
  });

  it('passes without any write', () => {
    const none = new Truth([]);
    expect(
      judgeHistory(
        none,
        history(
          none,
          [listRecord('1', ''), watchRecord(none, '1', '*5')],
          [handlerRecord(none, '')],
        ),
      ),
    ).toEqual([]);
  });

  it('passes if a missed delete gave a tombstone, and a recreated object an update', () => {
    const log = writes('a1 b2 -a3 -b4 b5 c6');
    const told1 = handlerRecord(log, 'a1 b2', '~a1 b2>5 c6');
    expect(
      judgeHistory(
        log,
        history(log, [listRecord('2', 'a1 b2'), listRecord('6', 'b5 c6')], [told1]),
      ),
    ).toEqual([]);
  });

  it('passes with streamed initial events, also after a broken stream', () => {
    const log = writes('a1 b2 -a3 c4 c5');
    const streams = [
      watchRecord(log, '', 'a1', true),
      watchRecord(log, '', 'b2 a1 -a3 *3!', true),
      watchRecord(log, '3', 'c4 c5'),
    ];
    expect(judgeHistory(log, history(log, streams, [handlerRecord(log, 'b2', 'c4 c4>5')]))).toEqual(
      [],
    );
  });

  it('passes for a handler that was added late', () => {
    const late = handlerRecord(truth, 'a4 c3', 'a4>8 c3>3 d9 c3>10', { late: true });
    expect(judgeHistory(truth, history(truth, requests(), [late]))).toEqual([]);
  });

  it('passes for a handler that gets repeats because it asked for resyncs', () => {
    const resynced = handlerRecord(
      truth,
      'a1 b2',
      'c3 a1>1 b2>2 c3>3 a1>4 -b5 c3>3 a4>8 c3>3 d9 c3>10',
      {
        resync: true,
      },
    );
    expect(judgeHistory(truth, history(truth, requests(), [resynced]))).toEqual([]);
  });
});

describe('a stream is rejected if', () => {
  const broken = (frames: string, from = '2') => {
    const rest = handlerRecord(truth, 'a1 b2', 'c3 a1>4 -b5 b6 -b7 a4>8 d9 c3>10');
    return rulesBroken(truth, [listRecord('2', 'a1 b2'), watchRecord(truth, from, frames)], [rest]);
  };

  it('a version goes back (ordered)', () => {
    expect(broken('c3 -b5 a4 b6 -b7 a8 d9 c10')).toContain('ordered');
  });

  it('a version comes twice (unique)', () => {
    expect(broken('c3 a4 a4 -b5 b6 -b7 a8 d9 c10')).toEqual(['unique']);
  });

  it('the first event is not the next one after its version (resumable)', () => {
    expect(broken('a4 -b5 b6 -b7 a8 d9 c10')).toContain('resumable');
  });

  it('an event is missing between two others (reliable)', () => {
    expect(broken('c3 a4 b6 -b7 a8 d9 c10')).toContain('reliable');
  });

  it('an event follows a bookmark of its version or a later one (bookmarkable)', () => {
    expect(broken('c3 *4 a4 -b5 b6 -b7 a8 d9 c10')).toEqual(['bookmarkable']);
  });

  it('a bookmark goes back (bookmarkable)', () => {
    expect(broken('c3 a4 *3 -b5 b6 -b7 a8 d9 c10')).toEqual(['bookmarkable']);
  });

  it('its last bookmark skips a write (bookmarkable)', () => {
    const log = writes('a1 a2');
    expect(
      rulesBroken(
        log,
        [listRecord('1', 'a1'), watchRecord(log, '1', '*2')],
        [handlerRecord(log, 'a1', 'a1>2')],
      ),
    ).toEqual(['bookmarkable', 'received']);
  });

  it('it has an event that was never written, or altered (genuine)', () => {
    expect(broken('c3:forged a4 -b5 b6 -b7 a8 d9 c10')).toEqual(['genuine']);
    const log = writes('a1 b2');
    const added = { ...watchRecord(log, '1', 'b2') };
    const frames = added.frames.map(
      (frame) => ({ ...frame, type: 'MODIFIED' as const }) as (typeof added.frames)[0],
    );
    expect(
      rulesBroken(
        log,
        [listRecord('1', 'a1'), { ...added, frames }],
        [handlerRecord(log, 'a1', 'b2')],
      ),
    ).toEqual(['genuine']);
  });
});

describe('requests are rejected if', () => {
  it('a list is not the state at its version (listed)', () => {
    const log = writes('a1 b2');
    for (const items of ['a1', 'a1 b2 c3', 'a1 b2:other', 'a1 b2 b2']) {
      expect(
        rulesBroken(log, [listRecord('2', items)], [handlerRecord(log, items)]),
        items,
      ).toContain('listed');
    }
  });

  it('streamed initial events are not the state at their end (listed)', () => {
    const log = writes('a1 b2');
    expect(
      rulesBroken(log, [watchRecord(log, '', 'b2 *2!', true)], [handlerRecord(log, 'a1 b2')]),
    ).toContain('listed');
  });

  it('a watch does not begin at the last version (continued)', () => {
    for (const [first, from] of [
      ['c3', '2'],
      ['c3 *4', '3'],
      ['c3', '4'],
    ] as const) {
      const log = writes('a1 b2 c3');
      const sent = [
        listRecord('2', 'a1 b2'),
        watchRecord(log, '2', first),
        watchRecord(log, from, ''),
      ];
      expect(
        rulesBroken(log, sent, [handlerRecord(log, 'a1 b2', 'c3')]),
        `${first}, then from ${from}`,
      ).toEqual(['continued']);
    }
  });

  it('a list goes back in time (forward)', () => {
    const log = writes('a1 a2 a3');
    const sent = [listRecord('1', 'a1'), watchRecord(log, '1', 'a2 a3'), listRecord('2', 'a2')];
    expect(rulesBroken(log, sent, [handlerRecord(log, 'a1', 'a1>2 a2>3')])).toEqual(['forward']);
  });
});

describe('a handler is rejected if', () => {
  it('it gets an object that was never written, or other content (written)', () => {
    expect(toldInstead(story.replace('d9', 'd9:forged'))).toContain('written');
    expect(toldInstead(`${story} e11`)).toContain('written');
    expect(toldInstead(story.replace('-b5', '-b5:forged'))).toEqual(['written']);
  });

  it('it gets a deletion as an update (written)', () => {
    expect(toldInstead(story.replace('-b5', 'b2>5 -b5'))).toContain('written');
  });

  it('it gets a write that was never received (received)', () => {
    expect(toldInstead(story.replace('a4>8', 'b6 -b7 a4>8'))).toEqual(['received']);
  });

  it('it gets initial events whose end was never received (received)', () => {
    const log = writes('a1 -a2');
    const sent = [watchRecord(log, '', 'a1', true), listRecord('2', '')];
    expect(rulesBroken(log, sent, [handlerRecord(log, 'a1', '~a1')])).toContain('received');
  });

  it('an existing object is added, or a missing one updated or deleted (lifecycle)', () => {
    expect(toldInstead(story.replace('a1>4', 'a4'))).toEqual(['lifecycle']);
    expect(toldInstead(story.replace(' d9', ' d8>9'))).toEqual(['lifecycle']);
    expect(toldInstead(`${story} -b5`)).toContain('lifecycle');
  });

  it('the old object of an update is not the last state (lifecycle)', () => {
    expect(toldInstead(story.replace('a4>8', 'a1>8'))).toEqual(['lifecycle']);
  });

  it('the states of an object come out of order (inOrder)', () => {
    expect(toldInstead('c3 -b5 a1>8 a8>4 c3>3 d9 c3>10')).toContain('inOrder');
  });

  it("events come out of order, though each object's do not (totalOrder)", () => {
    expect(toldInstead(story.replace('c3 a1>4', 'a1>4 c3'))).toEqual(['totalOrder']);
    const perKey = history(
      truth,
      requests(),
      [handlerRecord(truth, 'a1 b2', story.replace('c3 a1>4', 'a1>4 c3'))],
      {
        order: 'per key',
      },
    );
    expect(judgeHistory(truth, perKey)).toEqual([]);
  });

  it('it gets a repeat without a list or a resync (repeated)', () => {
    expect(toldInstead(story.replace('a1>4', 'a1>4 a4>4'))).toEqual(['repeated']);
    expect(toldInstead(`${story} c10>10`)).toEqual(['repeated']);
  });

  it('it gets a repeat after a resync, but not as an update (repeated)', () => {
    expect(
      toldInstead(story.replace('c3 a1', 'c3 -c3 c3 a1'), 'a1 b2', { resync: true }),
    ).toContain('repeated');
  });

  it('it misses a received event but gets a later state of the object (complete)', () => {
    expect(toldInstead(story.replace('a1>4', '').replace('a4>8', 'a1>8'))).toEqual(['complete']);
  });

  it('it misses the last event before a stream broke (complete)', () => {
    expect(toldInstead(story.replace('-b5', ''))).toContain('complete');
  });

  it('it misses a write that no list skipped (missed)', () => {
    expect(toldInstead(story.replace(' d9', ''))).toContain('missed');
  });

  it('it misses a write whose state a list had (missed)', () => {
    const log = writes('a1 a2');
    const sent = [listRecord('1', 'a1'), listRecord('2', 'a2')];
    expect(rulesBroken(log, sent, [handlerRecord(log, 'a1')])).toEqual(['missed', 'final']);
  });

  it('a missed delete gives no tombstone (final, tombstones)', () => {
    const log = writes('a1 b2 -a3 a4');
    const gone = [listRecord('2', 'a1 b2'), listRecord('3', 'b2'), watchRecord(log, '3', '')];
    const still = writes('a1 b2 -a3');
    expect(rulesBroken(still, gone, [handlerRecord(still, 'a1 b2')])).toEqual(['final']);
    const again = [listRecord('2', 'a1 b2'), listRecord('3', 'b2'), watchRecord(log, '3', 'a4')];
    expect(rulesBroken(log, again, [handlerRecord(log, 'a1 b2', 'a1>4')])).toEqual(['tombstones']);
    expect(rulesBroken(log, again, [handlerRecord(log, 'a1 b2', '~a1 a4')])).toEqual([]);
  });

  it('a tombstone is repeated or altered (lifecycle, tombstones)', () => {
    const log = writes('a1 b2 -a3');
    const sent = [listRecord('2', 'a1 b2'), listRecord('3', 'b2')];
    expect(rulesBroken(log, sent, [handlerRecord(log, 'a1 b2', '~a1 ~a1')])).toEqual(['lifecycle']);
    expect(
      rulesBroken(
        log,
        [sent[0]!, watchRecord(log, '2', '-a3')],
        [handlerRecord(log, 'a1 b2', '~a1')],
      ),
    ).toContain('tombstones');
    expect(rulesBroken(log, sent, [handlerRecord(log, 'a1 b2', '~a1:other')])).toEqual([
      'tombstones',
    ]);
  });

  it('its first objects are not the first list (snapshot)', () => {
    expect(toldInstead(story, 'a1')).toContain('snapshot');
    expect(toldInstead(`b2 ${story}`, 'a1')).toContain('snapshot');
  });

  it('it is added late and its first objects never existed together (snapshot)', () => {
    const torn = handlerRecord(truth, 'a8 b2 c3', 'c3>3 d9 c3>10', { late: true });
    expect(rulesBroken(truth, requests(), [torn])).toContain('snapshot');
  });

  it('it is added late and misses the event after its snapshot (complete)', () => {
    const gap = handlerRecord(truth, 'a4 b2 c3', 'a4>8 c3>3 d9 c3>10', { late: true });
    expect(rulesBroken(truth, requests(), [gap])).toContain('complete');
  });
});

describe('at the end', () => {
  it('a cache that differs from the writes is rejected (cache)', () => {
    const handlers = [handlerRecord(truth, 'a1 b2', story)];
    for (const cache of [
      'a8 c10',
      'a8 b6 c10 d9',
      'a4 c10 d9',
      'a8 c10 d9:other',
      'a8 a8 c10 d9',
    ]) {
      expect(rulesBroken(truth, requests(), handlers, { cache: states(cache) }), cache).toEqual([
        'cache',
      ]);
    }
  });

  it('a handler whose notifications do not add up to the cache is rejected (final)', () => {
    expect(toldInstead(story.replace('-b5', ''))).toContain('final');
  });

  it('the report names rule, handler and object, and is short', () => {
    const violations = judgeHistory(
      truth,
      history(truth, requests(), [handlerRecord(truth, 'a1 b2', story.replace(' d9', ''))]),
    );
    expect(report(violations)).toContain(
      'missed: handler h: d@9 was never told, and no list explains it',
    );
    expect(report(Array.from({ length: 30 }, () => violations[0]!)).split('\n')).toHaveLength(21);
  });

  it('a log of writes whose versions go back is an error', () => {
    expect(() => writes('a2 a1')).toThrow('the log of writes has 1 after 2');
  });
});
