/** The sections of the page, each from its part of the state. */

import { systemWallNow } from '../../../base/clock.ts';
import { isLongWait } from '../../../cache/rest/rest.ts';
import type { ControllerReport, KeyReport, RunReport } from '../../../controller/index.ts';
import type { ShardReplicaOverview, ShardReport, ShardSlot } from '../../../shards/overview.ts';
import type { InformerState, LivePageState } from '../state.ts';
import type { Verdict, VerdictState } from '../verdict.ts';
import { causeText, hasFailed, label, span } from '../words.ts';
import { button, type Child, type Description, h } from './dom.ts';
import {
  bytes,
  causeList,
  causesText,
  errorLine,
  errorWhole,
  figure,
  keyButton,
  type Mark,
  type Row,
  state,
  table,
} from './parts.ts';

export interface Actions {
  choose(key: string): void;
  more(): void;
}

const section = (id: string, title: Child, ...content: Child[]): Description =>
  h(
    'section',
    { key: id, id, tabindex: -1, 'aria-labelledby': `${id}-title` },
    h('h2', { id: `${id}-title` }, title),
    content,
  );

/** Why the object of the filter is not reconciled, or the objects that the filter matches. */
export function verdictSection(
  { filter, verdicts, matches, cachedIn, informers, now }: LivePageState,
  actions: Actions,
): Child {
  if (filter === '') return undefined;
  if (matches.length > 0) {
    return h(
      'section',
      { key: 'answer', id: 'answer', tabindex: -1, 'aria-label': 'Objects that match' },
      h(
        'p',
        { class: 'soft' },
        'Which one? ',
        matches.length === 20 ? 'The first 20 that contain' : 'These contain',
        ` “${filter}”:`,
      ),
      h(
        'ul',
        { class: 'matches' },
        matches.map((each) => h('li', { key: label(each) }, keyButton(each, actions.choose))),
      ),
    );
  }
  const [first] = verdicts;
  if (first === undefined) {
    const text =
      `Nothing that is known here contains “${filter}”. ` +
      'For an object that may not exist, write its namespace/name.';
    return h(
      'section',
      { key: 'answer', id: 'answer', tabindex: -1, 'aria-label': 'No object' },
      h('p', {}, text),
    );
  }
  const cached = informers
    .filter((each) => cachedIn.includes(each.key))
    .map((each) => each.resource);
  return section(
    'answer',
    label(first),
    verdicts.map((each) => article(each, now)),
    cached.length > 0 && h('p', { class: 'note' }, `Cached as: ${cached.join(', ')}.`),
  );
}

function article(verdict: Verdict, now: number): Description {
  const { controller, state: word, text, notes, error, causes } = verdict;
  const asked = causeList({ ...verdict, moreCauses: 0 }, now);
  return h(
    'article',
    { key: controller, class: `verdict ${word}` },
    h('h3', {}, state(MARKS[word], word), h('span', { class: 'soft' }, ` in ${controller}`)),
    h('p', { class: 'said' }, text),
    notes.map((note) => h('p', { class: 'note' }, note)),
    error && errorWhole(error),
    causes.length > 0 &&
      h('div', { class: 'why' }, h('span', { class: 'soft' }, 'Asked for by'), asked),
  );
}

const MARKS: Readonly<Record<VerdictState, Mark>> = {
  active: 'busy',
  queued: 'wait',
  failing: 'fail',
  done: 'good',
  blocked: 'stop',
  idle: 'none',
};

export function leadership({ leader, shards, stopping }: LivePageState): Description {
  if (stopping) return state('stop', 'This process is ending');
  if (shards !== undefined) return share(shards);
  if (leader === undefined) return state('good', 'No leader election: this process works alone');
  const { holder, holdsLease, identity, lease, validMs } = leader;
  const valid =
    validMs === undefined
      ? ''
      : validMs > 0
        ? `, valid for ${span(validMs)} more`
        : `, ran out ${span(-validMs)} ago`;
  const of = h('span', { class: 'soft' }, ` · lease ${lease}${valid}`);
  if (holdsLease) return state('good', 'Leads as ', h('b', {}, identity), of);
  if (holder === undefined || holder === '') return state('wait', 'Nobody leads', of);
  if (holder === identity) return state('stop', 'Lost its lease as ', h('b', {}, identity), of);
  return state('wait', 'Stands by: ', h('b', {}, holder), ' leads', of);
}

/** The part of the work that this process has. */
function share({ id, namespace, replica, isValid, isReady, slots }: ShardReport): Description {
  const of = h('span', { class: 'soft' }, ` · shards ${namespace}/${id}`);
  const who = h('b', {}, replica);
  if (!isValid) return state('stop', 'Works on nothing, as its Lease is not valid: ', who, of);
  if (slots.length === 0) return state('wait', 'Waits for a map as ', who, of);
  const owned = slots.filter(({ owner }) => owner === replica).length;
  const words = `Has ${owned} of ${slots.length} slots as `;
  return state(isReady ? 'good' : 'wait', words, who, of);
}

const REPLICA_MARKS: Readonly<Record<ShardReplicaOverview['state'], Mark>> = {
  live: 'good',
  leaving: 'wait',
  expired: 'fail',
  ended: 'none',
  gone: 'stop',
};

const MAP_TEXTS: Readonly<Record<Exclude<ShardReport['map'], 'good'>, string>> = {
  missing: 'There is no map yet.',
  changed: 'The map was changed by somebody else: the coordinator writes it anew.',
  newer: 'The map is of a later release: this process hands over its slots.',
};

/** Who owns which slots, and which are on their way. */
export function shards({ shards: all }: LivePageState): Child {
  if (all === undefined) return undefined;
  const { slots, replicas, replica, coordinator, unownedMs, epoch, map, isNew } = all;
  const numbers = new Map(replicas.map(({ name }, i) => [name, i + 1]));
  const moving = slots.filter(({ movesTo }) => movesTo !== undefined).length;
  const free = slots.filter(({ owner }) => owner === '').length;
  return section(
    'shards',
    'Shards',
    map !== 'good' && h('p', { class: 'said' }, MAP_TEXTS[map]),
    isNew && h('p', { class: 'said' }, 'The map is new: slots wait until all have seen it.'),
    h(
      'dl',
      { class: 'figures' },
      amount('slots here', figure(slots.filter(({ owner }) => owner === replica).length)),
      amount('moving', figure(moving)),
      amount('without owner', figure(free), free > 0),
      amount('longest without', unownedMs > 0 ? span(unownedMs) : '–', unownedMs > 0),
      amount('epoch', figure(epoch)),
    ),
    slots.length > 0 &&
      h(
        'ol',
        { class: 'slots', 'aria-label': 'The owner of each slot' },
        slots.map((slot) => slotBox(slot, numbers, slot.owner === replica)),
      ),
    table(
      'Replicas',
      REPLICA_COLUMNS,
      replicas.map((each) => replicaRow(each, all, numbers, coordinator)),
    ),
  );
}

/** The numbers of the owner, and of the replica that gets the slot. */
function slotBox(
  { slot, owner, movesTo, step, objects }: ShardSlot,
  numbers: ReadonlyMap<string, number>,
  isOurs: boolean,
): Description {
  const number = (name: string): string => `${numbers.get(name) ?? '–'}`;
  const way = movesTo === undefined ? '' : `→${number(movesTo)}`;
  const count = objects === undefined ? '' : `, ${figure(objects)} objects`;
  const goes = movesTo === undefined ? '' : `, to ${movesTo}: ${step}`;
  const title = `slot ${slot}: ${owner === '' ? 'no owner' : owner}${goes}${count}`;
  const kind = owner === '' ? 'free' : movesTo !== undefined ? 'moving' : isOurs ? 'ours' : '';
  return h('li', { key: `${slot}`, class: kind, title, 'aria-label': title }, number(owner), way);
}

const REPLICA_COLUMNS = [
  { title: 'Replica', kind: 'main' },
  { title: 'State' },
  { title: 'Slots', kind: 'figure' },
  { title: 'Objects', kind: 'figure' },
  { title: 'Renewed', kind: 'time' },
  { title: 'Follows', kind: 'figure' },
  { title: 'Moves', kind: 'wide' },
] as const;

function replicaRow(
  { name, state: word, slots, incoming, outgoing, objects, renewedMs, epoch }: ShardReplicaOverview,
  { replica }: ShardReport,
  numbers: ReadonlyMap<string, number>,
  coordinator: string,
): Row {
  const notes = [name === replica && 'this process', name === coordinator && 'coordinator'];
  const said = notes.filter((note) => note !== false).join(', ');
  const moves = [incoming > 0 && `${incoming} to it`, outgoing > 0 && `${outgoing} from it`];
  return {
    key: name,
    cells: [
      [
        h('b', {}, `${numbers.get(name)} `),
        name,
        said && h('span', { class: 'soft' }, ` · ${said}`),
      ],
      state(REPLICA_MARKS[word], word),
      figure(slots.length),
      figure(objects),
      renewedMs < 0 ? 'never' : `${span(renewedMs)} ago`,
      figure(epoch),
      h('span', { class: 'soft' }, moves.filter((move) => move !== false).join(', ') || '–'),
    ],
  };
}

const CONTROLLER_MARKS: Readonly<Record<ControllerReport['state'], Mark>> = {
  'not started': 'none',
  'warming up': 'wait',
  'waiting for leadership': 'wait',
  'waiting for caches': 'wait',
  running: 'good',
  ended: 'stop',
};

export function controller(
  report: ControllerReport,
  { filter, limit, now, informers: caches }: LivePageState,
  actions: Actions,
): Description {
  const { name, groupKind, queue, workers, totals, keys, recent, more } = report;
  const none = filter === '' ? 'The queue is empty.' : 'No request in the queue matches.';
  return section(
    `controller ${name}`.replace(/\s/g, '-'),
    [
      h('bdi', {}, name),
      ' ',
      h('span', { class: 'kind' }, groupKind),
      ' ',
      state(CONTROLLER_MARKS[report.state], report.state),
    ],
    h(
      'dl',
      { class: 'figures' },
      amount('workers busy', [
        figure(queue.processing),
        h('span', { class: 'soft' }, ` / ${figure(workers)}`),
      ]),
      amount('ready', figure(queue.ready)),
      amount('waiting', figure(queue.waiting)),
      amount('succeeded', figure(totals.success)),
      amount('requeued', figure(totals.requeue + totals.requeueAfter)),
      amount('failed', figure(totals.error), totals.error > 0),
      amount('terminal', figure(totals.terminal), totals.terminal > 0),
    ),
    sources(report, caches),
    hotLoops(report, actions),
    h('h3', {}, 'Queue', h('span', { class: 'soft' }, ` ${inQueue(report)}`)),
    keys.length === 0 ? h('p', { class: 'empty' }, none) : keyTable(report, now, actions),
    more && moreKeys(limit, actions),
    h('h3', {}, 'Recent runs', h('span', { class: 'soft' }, ` ${figure(recent.length)}`)),
    recent.length === 0
      ? h(
          'p',
          { class: 'empty' },
          filter === '' ? 'Nothing has been reconciled yet.' : 'No recent run matches.',
        )
      : runTable(recent, now, actions),
  );
}

const LOOP_COLUMNS = [
  { title: 'Object', kind: 'main' },
  { title: 'Writes' },
  { title: 'What', kind: 'wide' },
  { title: 'Times', kind: 'figure' },
  { title: 'Last', kind: 'time' },
] as const;

function hotLoops({ hotLoops }: ControllerReport, actions: Actions): Child {
  if (hotLoops.length === 0) return undefined;
  const rows = hotLoops.map(
    (loop): Row => ({
      key: `${label(loop)} ${loop.object}`,
      cells: [
        keyButton(loop, actions.choose),
        loop.object,
        loop.paths.join(', '),
        figure(loop.writes),
        `${span(loop.agoMs)} ago`,
      ],
    }),
  );
  return [
    h('h3', {}, 'Hot loops', h('span', { class: 'soft' }, ' writes that change nothing')),
    table('Hot loops', LOOP_COLUMNS, rows),
  ];
}

/** Requests that failed with a terminal error are listed with the queue but are not in it. */
function inQueue({ queue, keys, more }: ControllerReport): string {
  const total = queue.ready + queue.waiting + queue.processing;
  const givenUp = keys.filter(({ state }) => state === 'failed').length;
  const queued = keys.length - givenUp;
  const count = queued < total ? `${figure(queued)} of ${figure(total)}` : figure(queued);
  return givenUp === 0
    ? count
    : `${count}, and ${more ? 'at least ' : ''}${figure(givenUp)} given up`;
}

/** The highest `limit` that page/debug-page.ts accepts. */
const MOST = 1000;

const moreKeys = (limit: number, actions: Actions): Description =>
  limit < MOST
    ? button({ class: 'more' }, actions.more, 'Show more')
    : h('p', { class: 'note' }, `Only ${figure(limit)} are listed: ask for one by its name.`);

const amount = (title: string, value: Child, failing = false): Description =>
  h('div', { class: failing ? 'failing' : '' }, h('dt', {}, title), h('dd', {}, value));

function sources({ sources }: ControllerReport, caches: readonly InformerState[]): Child {
  if (sources.length === 0)
    return h('p', { class: 'empty' }, 'It has no sources: nothing asks for anything.');
  const rows = sources.map(({ name, synced, events, problem, informer }, index): Row => {
    const { handled, filtered, failed } = events;
    return {
      key: `${index} ${name}`,
      cells: [
        name,
        synced ? state('good', 'synced') : state('wait', 'not synced'),
        figure(handled),
        figure(filtered),
        figure(failed),
        h(
          'span',
          { class: 'soft' },
          caches.find((each) => each.key === informer)?.resource ?? informer ?? '–',
        ),
      ],
      below: problem && h('div', { class: 'error' }, problem),
    };
  });
  return table('Sources', [{ title: 'Source', kind: 'main' }, { title: 'Cache' }, ...EVENTS], rows);
}

const EVENTS = [
  { title: 'Handled', kind: 'time' },
  { title: 'Filtered', kind: 'figure' },
  { title: 'Failed', kind: 'figure' },
  { title: 'Informer', kind: 'wide' },
] as const;

function keyTable(
  { keys, queue }: ControllerReport,
  now: number,
  { choose }: Actions,
): Description {
  const priority = queue.hasPriorities ? [{ title: 'Priority', kind: 'time' } as const] : [];
  const rows = keys.map(
    (key): Row => ({
      key: `${key.namespace}/${key.name}`,
      cells: [
        keyButton(key, choose),
        keyState(key),
        ...(queue.hasPriorities ? [key.priority === undefined ? '' : figure(key.priority)] : []),
        hasFailed(key) ? figure(key.failures) : h('span', { class: 'soft' }, '0'),
        causesText(key, now),
      ],
      below: key.lastError && errorLine(key.lastError),
    }),
  );
  const columns = [
    { title: 'Object', kind: 'main' },
    { title: 'State' },
    ...priority,
    { title: 'Failures', kind: 'figure' },
    { title: 'Asked for by', kind: 'wide' },
  ] as const;
  return table('Queue', columns, rows);
}

function keyState(key: KeyReport): Description {
  const { state: word, sinceMs, waitingMs } = key;
  if (word === 'processing')
    return state('busy', `runs${sinceMs === undefined ? '' : ` ${span(sinceMs)}`}`);
  if (word === 'failed') return state('stop', 'given up');
  const mark = hasFailed(key) ? 'fail' : 'wait';
  if (word === 'ready')
    return state(mark, `ready${sinceMs === undefined ? '' : ` ${span(sinceMs)}`}`);
  return state(mark, waitingMs === undefined ? 'waits' : `in ${span(waitingMs)}`);
}

const OUTCOMES: Readonly<Record<RunReport['outcome'], readonly [Mark, string]>> = {
  success: ['good', 'succeeded'],
  requeue: ['wait', 'requeued'],
  requeueAfter: ['wait', 'requeued'],
  error: ['fail', 'failed'],
  terminal: ['stop', 'failed, terminal'],
  aborted: ['wait', 'aborted'],
};

function runTable(recent: readonly RunReport[], now: number, { choose }: Actions): Description {
  const rows = recent.map((run, index): Row => {
    const [mark, word] = OUTCOMES[run.outcome];
    const after = run.requeueAfterMs === undefined ? '' : ` after ${span(run.requeueAfterMs)}`;
    return {
      key: run.reconcileId,
      cells: [
        keyButton(run, choose),
        state(
          mark,
          `${word}${after}`,
          run.attempt > 1 && h('span', { class: 'soft' }, `, attempt ${figure(run.attempt)}`),
        ),
        `${span(run.agoMs)} ago`,
        span(run.tookMs),
        causesText(run, now),
      ],
      below: run.error && !isRepeated(run, recent[index - 1]) && errorLine(run.error),
    };
  });
  return table('Recent runs', RUN_COLUMNS, rows);
}

/** A request that keeps failing has the same error each time, which is shown once. */
const isRepeated = (run: RunReport, above: RunReport | undefined): boolean =>
  above !== undefined && label(above) === label(run) && above.error?.message === run.error?.message;

const RUN_COLUMNS = [
  { title: 'Object', kind: 'main' },
  { title: 'Outcome' },
  { title: 'Ended', kind: 'time' },
  { title: 'Took', kind: 'figure' },
  { title: 'Asked for by', kind: 'wide' },
] as const;

export function informers({ informers: all, cachedIn }: LivePageState): Description {
  if (all.length === 0)
    return section('informers', 'Informers', h('p', { class: 'empty' }, 'Nothing is cached.'));
  return section(
    'informers',
    'Informers',
    table(
      'Informers',
      INFORMER_COLUMNS,
      all.map((each) => informerRow(each, cachedIn)),
    ),
  );
}

const INFORMER_COLUMNS = [
  { title: 'Resource', kind: 'main' },
  { title: 'State' },
  { title: 'Last heard', kind: 'time' },
  { title: 'Objects', kind: 'figure' },
  { title: 'Bytes', kind: 'figure' },
  { title: 'Backlog', kind: 'figure' },
  { title: 'Relists', kind: 'figure' },
  { title: 'Failures', kind: 'wide' },
] as const;

function informerRow(informer: InformerState, cachedIn: readonly string[]): Row {
  const {
    key,
    resource,
    lastSignOfLife,
    objects,
    failures,
    lastFailure,
    handlers,
    queued,
    relists,
    metadataOnly,
    notIndexed,
  } = informer;
  const classes = Object.entries(failures).filter(([, times]) => times > 0);
  const pending = handlers.reduce((sum, handler) => sum + handler.pending, queued);
  const slow = handlers
    .filter((handler) => handler.pending > 0)
    .map(({ name, pending: n }) => `${name}: ${figure(n)}`);
  const failing =
    informer.isStopped || (lastFailure !== undefined && informer.state !== 'watching');
  const size = [
    bytes(informer.bytes.live),
    metadataOnly > 0 && `, ${figure(metadataOnly)} by metadata alone`,
  ];
  return {
    key,
    cells: [
      [resource, cachedIn.includes(key) && h('span', { class: 'soft' }, ' · has it')],
      informerState(informer),
      lastSignOfLife === undefined ? 'never' : `${span(lastSignOfLife)} ago`,
      [figure(objects), notIndexed > 0 && `, ${figure(notIndexed)} not indexed`],
      size,
      h('span', { title: slow.join(', ') }, figure(pending)),
      figure(relists),
      classes.length === 0
        ? h('span', { class: 'soft' }, 'no failures')
        : classes.map(([name, n]) => `${name} ${figure(n)}`).join(', '),
    ],
    below: failing &&
      lastFailure && [
        errorLine(lastFailure.error),
        h(
          'div',
          { class: 'note' },
          `${lastFailure.class}: next is to ${lastFailure.next}${next(lastFailure)}`,
        ),
      ],
  };
}

function next({ afterMs, agoMs }: NonNullable<InformerState['lastFailure']>): string {
  const left = afterMs - agoMs;
  if (left <= 0) return '';
  const at = new Date(systemWallNow() + left).toLocaleString();
  return `, in ${span(left)}${isLongWait(left) ? `, at ${at}` : ''}`;
}

function informerState({
  isStopped,
  hasSynced,
  state: word,
  lastFailure,
}: InformerState): Description {
  if (isStopped) return state('stop', 'stopped');
  const mark = word === 'watching' ? 'good' : lastFailure === undefined ? 'wait' : 'fail';
  return state(mark, hasSynced ? word : `${word}, not synced`);
}

const RUNNABLE_MARKS: Readonly<Record<LivePageState['runnables'][number]['state'], Mark>> = {
  'not started': 'none',
  'waiting for leadership': 'wait',
  running: 'good',
  ended: 'none',
  failed: 'fail',
};

export function runnables({ runnables: all }: LivePageState): Child {
  if (all.length === 0) return undefined;
  const rows = all.map(
    ({ name, group, state: word, error }, index): Row => ({
      key: `${index} ${name}`,
      cells: [name, state(RUNNABLE_MARKS[word], word), group],
      below: error && errorLine(error),
    }),
  );
  const columns = [
    { title: 'Name', kind: 'main' },
    { title: 'State' },
    { title: 'Group', kind: 'wide' },
  ] as const;
  return section('runnables', 'Runnables', table('Runnables', columns, rows));
}

/** For screen readers: states without times, which would be read out every second. */
export function spoken({ verdicts }: LivePageState): string {
  return verdicts
    .map(
      ({ controller, state: word, causes: [cause] }) =>
        `${controller}: ${word}${cause === undefined ? '' : `, asked for by ${causeText(cause)}`}`,
    )
    .join('; ');
}
