/**
 * The judge of histories, judged: a whole history passes, and for each rule there is one that
 * breaks it, written down as small as it gets. A checker that lets something through would make
 * every run that it judges worthless.
 */
import { describe, expect, it } from 'vitest';
import { judge, report } from '../helpers/history/judge.ts';
import { Truth } from '../helpers/history/truth.ts';
import { history, list, states, told, watch, writes } from './notation.ts';

/**
 * a, b and c come and go; the informer lists at 2, watches, is cut at 5, and has to list again at
 * 9.
 */
const truth = writes('a1 b2 c3 a4 -b5 b6 -b7 a8 d9 c10');
const requests = () => [
  list('2', 'a1 b2'),
  watch(truth, '2', 'c3 *3 a4'),
  watch(truth, '4', '-b5 *5'),
  watch(truth, '5', '!410'),
  list('9', 'a8 c3 d9'),
  watch(truth, '9', 'c10 *10'),
];
const story = 'c3 a1>4 -b5 a4>8 c3>3 d9 c3>10';
const rulesBroken = (...args: Parameters<typeof history>) => [
  ...new Set(judge(args[0], history(...args)).map(({ rule }) => rule)),
];

/** The history above with its handler told something else. */
const toldInstead = (rest: string, initial = 'a1 b2', options = {}) =>
  rulesBroken(truth, requests(), [told(truth, initial, rest, options)]);

describe('a history that keeps all rules', () => {
  it('passes: list, watches, a relist after the history has expired', () => {
    expect(judge(truth, history(truth, requests(), [told(truth, 'a1 b2', story)]))).toEqual([]);
  });

  it('passes when nothing was ever written', () => {
    const none = new Truth([]);
    expect(
      judge(none, history(none, [list('1', ''), watch(none, '1', '*5')], [told(none, '')])),
    ).toEqual([]);
  });

  it('passes when a missed delete gave a tombstone, and an object that was made anew an update', () => {
    const log = writes('a1 b2 -a3 -b4 b5 c6');
    const told1 = told(log, 'a1 b2', '~a1 b2>5 c6');
    expect(judge(log, history(log, [list('2', 'a1 b2'), list('6', 'b5 c6')], [told1]))).toEqual([]);
  });

  it('passes when initial events are streamed, also when a stream ended before its bookmark and was thrown away', () => {
    const log = writes('a1 b2 -a3 c4 c5');
    const streams = [
      watch(log, '', 'a1', true),
      watch(log, '', 'b2 a1 -a3 *3!', true),
      watch(log, '3', 'c4 c5'),
    ];
    expect(judge(log, history(log, streams, [told(log, 'b2', 'c4 c4>5')]))).toEqual([]);
  });

  it('passes for a handler that came late, whatever had come and gone before', () => {
    const late = told(truth, 'a4 c3', 'a4>8 c3>3 d9 c3>10', { late: true });
    expect(judge(truth, history(truth, requests(), [late]))).toEqual([]);
  });

  it('passes for a handler that is told the same again because it asked for resyncs', () => {
    const resynced = told(truth, 'a1 b2', 'c3 a1>1 b2>2 c3>3 a1>4 -b5 c3>3 a4>8 c3>3 d9 c3>10', {
      resync: true,
    });
    expect(judge(truth, history(truth, requests(), [resynced]))).toEqual([]);
  });
});

describe('a stream is refused when', () => {
  const broken = (frames: string, from = '2') => {
    const rest = told(truth, 'a1 b2', 'c3 a1>4 -b5 b6 -b7 a4>8 d9 c3>10');
    return rulesBroken(truth, [list('2', 'a1 b2'), watch(truth, from, frames)], [rest]);
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

  it('something comes after a bookmark that promised it had come (bookmarkable)', () => {
    expect(broken('c3 *4 a4 -b5 b6 -b7 a8 d9 c10')).toEqual(['bookmarkable']);
  });

  it('a bookmark goes back (bookmarkable)', () => {
    expect(broken('c3 a4 *3 -b5 b6 -b7 a8 d9 c10')).toEqual(['bookmarkable']);
  });

  it('a bookmark at its end passes over a write (bookmarkable)', () => {
    const log = writes('a1 a2');
    expect(
      rulesBroken(log, [list('1', 'a1'), watch(log, '1', '*2')], [told(log, 'a1', 'a1>2')]),
    ).toEqual(['bookmarkable', 'received']);
  });

  it('it reports what was never written, or other content, or the wrong kind of event (genuine)', () => {
    expect(broken('c3:forged a4 -b5 b6 -b7 a8 d9 c10')).toEqual(['genuine']);
    const log = writes('a1 b2');
    const added = { ...watch(log, '1', 'b2') };
    const frames = added.frames.map(
      (frame) => ({ ...frame, type: 'MODIFIED' as const }) as (typeof added.frames)[0],
    );
    expect(
      rulesBroken(log, [list('1', 'a1'), { ...added, frames }], [told(log, 'a1', 'b2')]),
    ).toEqual(['genuine']);
  });
});

describe('requests are refused when', () => {
  it('a list is not what was there at its version (listed)', () => {
    const log = writes('a1 b2');
    for (const items of ['a1', 'a1 b2 c3', 'a1 b2:other', 'a1 b2 b2']) {
      expect(rulesBroken(log, [list('2', items)], [told(log, items)]), items).toContain('listed');
    }
  });

  it('streamed initial events are not what was there at their end (listed)', () => {
    const log = writes('a1 b2');
    expect(rulesBroken(log, [watch(log, '', 'b2 *2!', true)], [told(log, 'a1 b2')])).toContain(
      'listed',
    );
  });

  it('a watch begins above or below the last version that came, be it of a list, an event or a bookmark (continued)', () => {
    for (const [first, from] of [
      ['c3', '2'],
      ['c3 *4', '3'],
      ['c3', '4'],
    ] as const) {
      const log = writes('a1 b2 c3');
      const sent = [list('2', 'a1 b2'), watch(log, '2', first), watch(log, from, '')];
      expect(
        rulesBroken(log, sent, [told(log, 'a1 b2', 'c3')]),
        `${first}, then from ${from}`,
      ).toEqual(['continued']);
    }
  });

  it('a list goes back in time (forward)', () => {
    const log = writes('a1 a2 a3');
    const sent = [list('1', 'a1'), watch(log, '1', 'a2 a3'), list('2', 'a2')];
    expect(rulesBroken(log, sent, [told(log, 'a1', 'a1>2 a2>3')])).toEqual(['forward']);
  });
});

describe('a handler is refused when', () => {
  it('it is told what was never written, or other content (written)', () => {
    expect(toldInstead(story.replace('d9', 'd9:forged'))).toContain('written');
    expect(toldInstead(`${story} e11`)).toContain('written');
    expect(toldInstead(story.replace('-b5', '-b5:forged'))).toEqual(['written']);
  });

  it('it is told of a removal as if it were a change (written)', () => {
    expect(toldInstead(story.replace('-b5', 'b2>5 -b5'))).toContain('written');
  });

  it('it is told what never came, though it was written (received)', () => {
    expect(toldInstead(story.replace('a4>8', 'b6 -b7 a4>8'))).toEqual(['received']);
  });

  it('it is told of initial events whose end never came (received)', () => {
    const log = writes('a1 -a2');
    const sent = [watch(log, '', 'a1', true), list('2', '')];
    expect(rulesBroken(log, sent, [told(log, 'a1', '~a1')])).toContain('received');
  });

  it('an object is added that is there, or updated or deleted though it is not (lifecycle)', () => {
    expect(toldInstead(story.replace('a1>4', 'a4'))).toEqual(['lifecycle']);
    expect(toldInstead(story.replace(' d9', ' d8>9'))).toEqual(['lifecycle']);
    expect(toldInstead(`${story} -b5`)).toContain('lifecycle');
  });

  it('an update does not begin where the last one ended (lifecycle)', () => {
    expect(toldInstead(story.replace('a4>8', 'a1>8'))).toEqual(['lifecycle']);
  });

  it('the states of an object come out of order (inOrder)', () => {
    expect(toldInstead('c3 -b5 a1>8 a8>4 c3>3 d9 c3>10')).toContain('inOrder');
  });

  it('events of one stream come out of order, though each object is right (totalOrder)', () => {
    expect(toldInstead(story.replace('c3 a1>4', 'a1>4 c3'))).toEqual(['totalOrder']);
    const perKey = history(
      truth,
      requests(),
      [told(truth, 'a1 b2', story.replace('c3 a1>4', 'a1>4 c3'))],
      {
        order: 'per key',
      },
    );
    expect(judge(truth, perKey)).toEqual([]);
  });

  it('it is told the same twice without a list or a resync (repeated)', () => {
    expect(toldInstead(story.replace('a1>4', 'a1>4 a4>4'))).toEqual(['repeated']);
    expect(toldInstead(`${story} c10>10`)).toEqual(['repeated']);
  });

  it('it is told the same twice although it asked for resyncs, but not as an update (repeated)', () => {
    expect(
      toldInstead(story.replace('c3 a1', 'c3 -c3 c3 a1'), 'a1 b2', { resync: true }),
    ).toContain('repeated');
  });

  it('an event that came is not told, though a later state of the object is (complete)', () => {
    expect(toldInstead(story.replace('a1>4', '').replace('a4>8', 'a1>8'))).toEqual(['complete']);
  });

  it('the last event before a stream broke is not told (complete)', () => {
    expect(toldInstead(story.replace('-b5', ''))).toContain('complete');
  });

  it('a write is not told that no list overtook (missed)', () => {
    expect(toldInstead(story.replace(' d9', ''))).toContain('missed');
  });

  it('a list overtook the write, but in the state of that write (missed)', () => {
    const log = writes('a1 a2');
    const sent = [list('1', 'a1'), list('2', 'a2')];
    expect(rulesBroken(log, sent, [told(log, 'a1')])).toEqual(['missed', 'final']);
  });

  it('a missed delete gives no tombstone (final), or none before the object is made anew (tombstones)', () => {
    const log = writes('a1 b2 -a3 a4');
    const gone = [list('2', 'a1 b2'), list('3', 'b2'), watch(log, '3', '')];
    const still = writes('a1 b2 -a3');
    expect(rulesBroken(still, gone, [told(still, 'a1 b2')])).toEqual(['final']);
    const again = [list('2', 'a1 b2'), list('3', 'b2'), watch(log, '3', 'a4')];
    expect(rulesBroken(log, again, [told(log, 'a1 b2', 'a1>4')])).toEqual(['tombstones']);
    expect(rulesBroken(log, again, [told(log, 'a1 b2', '~a1 a4')])).toEqual([]);
  });

  it('a tombstone comes twice (lifecycle), without a list (tombstones), or with another state than was told (tombstones)', () => {
    const log = writes('a1 b2 -a3');
    const sent = [list('2', 'a1 b2'), list('3', 'b2')];
    expect(rulesBroken(log, sent, [told(log, 'a1 b2', '~a1 ~a1')])).toEqual(['lifecycle']);
    expect(
      rulesBroken(log, [sent[0]!, watch(log, '2', '-a3')], [told(log, 'a1 b2', '~a1')]),
    ).toContain('tombstones');
    expect(rulesBroken(log, sent, [told(log, 'a1 b2', '~a1:other')])).toEqual(['tombstones']);
  });

  it('its first objects are not the first list (snapshot)', () => {
    expect(toldInstead(story, 'a1')).toContain('snapshot');
    expect(toldInstead(`b2 ${story}`, 'a1')).toContain('snapshot');
  });

  it('it comes late and its first objects were never there together (snapshot)', () => {
    const torn = told(truth, 'a8 b2 c3', 'c3>3 d9 c3>10', { late: true });
    expect(rulesBroken(truth, requests(), [torn])).toContain('snapshot');
  });

  it('it comes late and the event after its snapshot is missing (complete)', () => {
    const gap = told(truth, 'a4 b2 c3', 'a4>8 c3>3 d9 c3>10', { late: true });
    expect(rulesBroken(truth, requests(), [gap])).toContain('complete');
  });
});

describe('at the end', () => {
  it('a cache that is not what was written is refused (cache)', () => {
    const handlers = [told(truth, 'a1 b2', story)];
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

  it('a handler whose notifications do not add up to it is refused (final)', () => {
    expect(toldInstead(story.replace('-b5', ''))).toContain('final');
  });

  it('the report names rule, handler and object, and is short', () => {
    const violations = judge(
      truth,
      history(truth, requests(), [told(truth, 'a1 b2', story.replace(' d9', ''))]),
    );
    expect(report(violations)).toContain(
      'missed: handler h: d@9 was never told, and no list explains it',
    );
    expect(report(Array.from({ length: 30 }, () => violations[0]!)).split('\n')).toHaveLength(21);
  });

  it('a log of writes that goes back is no log', () => {
    expect(() => writes('a2 a1')).toThrow('the log of writes has 1 after 2');
  });
});
