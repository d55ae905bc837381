/**
 * Rules for what a handler was told, and for the cache at the end. What came over the wire is taken
 * as given here: a handler is told all of that and nothing else, and only a list can excuse that
 * something was never told.
 */
import {
  type HandlerRecord,
  type History,
  isObject,
  type Listed,
  listsOf,
  type ObjectFrame,
  type State,
  stateName,
  stretchOf,
  type Told,
  type Violation,
} from './history.ts';
import { stateDifferences, type Truth } from './truth.ts';

/** One handler's record with what the rules ask of the rest. */
export interface Case {
  readonly truth: Truth;
  readonly history: History;
  readonly handler: HandlerRecord;
  readonly lists: readonly Listed[];
  /** Versions up to this one were in the cache when the handler was added. */
  readonly since: bigint;
}

type Rule = (one: Case) => string[];

/**
 * What is told was written, with that content; a delete is a removal and carries the object as it
 * was before.
 */
export const written: Rule = ({ truth, handler }) =>
  handler.told.flatMap((told) => {
    if (told.type === 'tombstone') return [];
    const write = truth.at(told.key, told.version);
    if (write === undefined) return [`${text(told)} was never written`];
    if ((write.content === undefined) !== (told.type === 'delete'))
      return [`${text(told)} is not what was written`];
    const expected = write.content ?? truth.state(told.key, told.version - 1n)?.content;
    return expected === told.content
      ? []
      : [`${text(told)} has other content than was written: ${told.content}`];
  });

/**
 * What is told has come over the wire: nothing is made up, and nothing of a list that was never
 * whole.
 */
export const received: Rule = ({ history, handler, lists }) => {
  const came = new Set(
    [...lists.flatMap(({ items }) => items), ...eventsOf(history)].map(stateName),
  );
  return handler.told
    .filter((told) => told.type !== 'tombstone' && !came.has(stateName(told)))
    .map((told) => `${text(told)} never came`);
};

/**
 * Only what is not there is added; only what is there is updated, from the state told last, or
 * deleted.
 */
export const lifecycle: Rule = ({ handler }) => {
  const live = new Map<string, bigint>();
  return handler.told.flatMap((told) => {
    const known = live.get(told.key);
    if (told.type === 'delete' || told.type === 'tombstone') live.delete(told.key);
    else live.set(told.key, told.version);
    if (told.type === 'add')
      return known === undefined ? [] : [`${text(told)}, but it is there at ${known}`];
    if (known === undefined) return [`${text(told)}, but it is not there`];
    if (told.type === 'update' && told.old !== known)
      return [`${text(told)} from ${told.old}, last told was ${known}`];
    return [];
  });
};

/**
 * The states of one object come in the order in which they were written; the same one again is
 * another rule's.
 */
export const inOrder: Rule = ({ handler }) => {
  const newest = new Map<string, bigint>();
  return handler.told.flatMap((told) => {
    if (told.type === 'tombstone') return [];
    const last = newest.get(told.key) ?? -1n;
    if (told.version < last) return [`${text(told)} after ${last}`];
    newest.set(told.key, told.version);
    return [];
  });
};

/**
 * The events of a watch come in its order, over all objects; what is older than that must be from a
 * later list alone.
 */
export const totalOrder: Rule = ({ history, handler, lists }) => {
  if (history.order !== 'total') return [];
  const events = new Set(eventsOf(history).map(stateName));
  let newest = -1n;
  return handler.told.flatMap((told) => {
    if (told.type === 'tombstone' || (told.type === 'add' && told.initial)) return [];
    const { version } = told;
    if (version >= newest) {
      newest = version;
      return [];
    }
    if (handler.resync && isRepeat(told)) return [];
    const mayBeListed = isRepeat(told) || !events.has(stateName(told));
    if (mayBeListed && lists.some((list) => list.version >= newest && has(list, told))) return [];
    return [`${text(told)} after ${newest}, and no list explains it`];
  });
};

/**
 * The same version again only as an update, once for each list that has it, or in a resync that the
 * handler asked for.
 */
export const repeated: Rule = ({ handler, lists }) => {
  const times = new Map<string, number>();
  return handler.told.flatMap((told) => {
    if (told.type === 'tombstone') return [];
    const count = (times.get(stateName(told)) ?? 0) + 1;
    times.set(stateName(told), count);
    if (count === 1 || (handler.resync && isRepeat(told))) return [];
    const listed = lists.filter((list) => has(list, told)).length;
    if (isRepeat(told) && count <= listed + 1) return [];
    return [`${text(told)} for the ${count}. time, with ${listed} lists`];
  });
};

/** Every event that came is told, whatever became of the stream after it. */
export const complete: Rule = ({ history, handler, since }) => {
  const told = new Set(handler.told.filter(({ type }) => type !== 'tombstone').map(stateName));
  return history.requests.flatMap((request, i) => {
    const frames = (request.type === 'watch' ? stretchOf(request)?.frames : undefined) ?? [];
    return frames
      .filter(isObject)
      .filter((frame) => frame.version > since && !told.has(stateName(frame)))
      .map(
        (frame) => `${frame.type} ${stateName(frame)} came with request ${i} and was never told`,
      );
  });
};

/**
 * A write that is never told was overtaken: a later list shows the object in another state, or no
 * longer.
 */
export const missed: Rule = ({ truth, handler, lists, since }) => {
  const told = new Set(handler.told.filter(({ type }) => type !== 'tombstone').map(stateName));
  return truth.writes
    .filter((write) => write.version > since && !told.has(stateName(write)))
    .filter(
      (write) =>
        !lists.some((list) => list.version >= write.version && overtaken(truth, list, write)),
    )
    .map((write) => `${stateName(write)} was never told, and no list explains it`);
};

/**
 * A delete that was missed gives one tombstone, with the state told last, and only then: the object
 * was gone in a list that is newer. Where it was made anew after such a list, the tombstone comes
 * before the addition.
 */
export const tombstones: Rule = ({ truth, handler, lists }) => {
  const live = new Map<string, State>();
  return handler.told.flatMap((told) => {
    const known = live.get(told.key);
    if (told.type === 'delete' || told.type === 'tombstone') live.delete(told.key);
    else live.set(told.key, told);
    if (known === undefined) return [];
    const goneIn = lists.filter(
      (list) => list.version > known.version && truth.state(told.key, list.version) === undefined,
    );
    if (told.type === 'tombstone') {
      if (goneIn.length === 0) return [`${text(told)}, but no list lacks it`];
      const same = told.version === known.version && told.content === known.content;
      return same ? [] : [`${text(told)}, last told was ${stateName(known)}`];
    }
    const unseen = goneIn.find((list) => list.version < told.version);
    if (unseen === undefined) return [];
    return [
      `${text(told)} without a tombstone, though the list of ` +
        `${unseen.version} lacked ${stateName(known)}`,
    ];
  });
};

/**
 * What a handler begins with is the state of one moment: that of the first list, or of the cache
 * when it was added.
 */
export const snapshot: Rule = ({ truth, handler, since }) =>
  stateDifferences('what came first', initial(handler), truth.asOf(since));

/** What was told adds up to what is there at the end. */
export const final: Rule = ({ truth, handler }) => {
  const picture = new Map<string, State>();
  for (const told of handler.told) {
    if (told.type === 'delete' || told.type === 'tombstone') picture.delete(told.key);
    else picture.set(told.key, told);
  }
  return stateDifferences('what was told', picture.values(), truth.asOf());
};

const rules: Readonly<Record<string, Rule>> = {
  written,
  received,
  lifecycle,
  inOrder,
  totalOrder,
  repeated,
  complete,
  missed,
  tombstones,
  snapshot,
  final,
};

/** Judges every handler by every rule. */
export function judgeHandlers(truth: Truth, history: History): Violation[] {
  const lists = listsOf(history.requests);
  return history.handlers.flatMap((handler) => {
    const since = sinceWhen(truth, handler, lists);
    const one = { truth, history, handler, lists, since };
    return Object.entries(rules).flatMap(([rule, judge]) =>
      judge(one).map((what) => ({ rule, message: `handler ${handler.name}: ${what}` })),
    );
  });
}

/**
 * When a handler's story begins. For a late one the moment is nowhere written down: it is the last
 * one at which what it was given first was what was there. Where there is no such moment, the
 * version of the newest object is as good as any, and `snapshot` says what is wrong with it.
 */
function sinceWhen(truth: Truth, handler: HandlerRecord, lists: readonly Listed[]): bigint {
  if (!handler.late) return lists[0]?.version ?? -1n;
  const given = new Map(initial(handler).map((told) => [told.key, told.version]));
  const newest = [...given.values()].reduce((a, b) => (a > b ? a : b), lists[0]?.version ?? -1n);
  const next = handler.told.find((told) => !isInitial(told) && told.version > newest)?.version;
  let state = truth.asOf(newest);
  let different = stateDifferences('', initial(handler), state).length;
  let since: bigint | undefined = different === 0 ? newest : undefined;
  state = new Map(state);
  for (const { key, version, content } of truth.writes) {
    if (version <= newest) continue;
    if (next !== undefined && version >= next) break;
    const was = state.get(key)?.version === given.get(key);
    if (content === undefined) state.delete(key);
    else state.set(key, { key, version, content });
    const is = state.get(key)?.version === given.get(key);
    different += Number(was) - Number(is);
    if (different === 0) since = version;
  }
  return since ?? newest;
}

/** All events of all streams that continue a version. */
function eventsOf(history: History): ObjectFrame[] {
  return history.requests
    .flatMap((request) => (request.type === 'watch' ? (stretchOf(request)?.frames ?? []) : []))
    .filter(isObject);
}

const isInitial = (told: Told): boolean => told.type === 'add' && told.initial;
const initial = (handler: HandlerRecord): Told[] => handler.told.filter(isInitial);
const isRepeat = (told: Told): boolean => told.type === 'update' && told.old === told.version;
const text = (told: Told): string => `${told.type} ${stateName(told)}`;

function has(list: Listed, { key, version }: State): boolean {
  return list.items.some((item) => item.key === key && item.version === version);
}

/** Whether the list shows the object in a state that is not the one of this write. */
function overtaken(
  truth: Truth,
  list: Listed,
  write: { key: string; version: bigint; content: string | undefined },
) {
  const last = truth.last(write.key, list.version);
  return write.content === undefined || last?.version !== write.version;
}
