/**
 * Rules for what came over the wire: etcd's guarantees for watches (ordered, unique, reliable,
 * resumable, bookmarkable), that lists are whole, and that the client went on from where it was.
 * The first ones judge servers and transports, `continued` and `forward` the reflector. The idea is
 * etcd's tests/robustness/validate/watch.go; `Atomic` has no meaning here, as a Kubernetes object
 * is written by a transaction of its own.
 */
import {
  type History,
  isObject,
  listsOf,
  type ObjectFrame,
  type Stretch,
  stateName,
  streamedList,
  stretchOf,
  type Violation,
  type WatchRecord,
} from './history.ts';
import { stateDifferences, type Truth } from './truth.ts';

type Rule = (truth: Truth, history: History) => Violation[];

/** A rule that is broken or kept by each stretch of watching alone. */
function forEachStretch(rule: string, judge: (stretch: Stretch, truth: Truth) => string[]): Rule {
  return (truth, { requests }) =>
    requests.flatMap((request, i) => {
      const stretch = request.type === 'watch' ? stretchOf(request) : undefined;
      if (stretch === undefined) return [];
      return judge(stretch, truth).map((what) => ({
        rule,
        message: `request ${i}, a watch from ${stretch.from}: ${what}`,
      }));
    });
}

/** Versions never go back. */
export const ordered = forEachStretch('ordered', ({ from, frames }) => {
  let last = from;
  return frames.filter(isObject).flatMap((frame) => {
    const back = frame.version < last;
    const message = back ? [`${stateName(frame)} came after ${last}`] : [];
    if (!back) last = frame.version;
    return message;
  });
});

/** No version comes twice. */
export const unique = forEachStretch('unique', ({ from, frames }) => {
  const seen = new Set<bigint>([from]);
  return frames.filter(isObject).flatMap((frame) => {
    if (seen.has(frame.version)) return [`${stateName(frame)} came again`];
    seen.add(frame.version);
    return [];
  });
});

/** The first event is the next write after the version that was resumed from. */
export const resumable = forEachStretch('resumable', ({ from, frames }, truth) => {
  const first = frames.find(isObject);
  return first === undefined ? [] : missing(truth, from, first.version - 1n);
});

/** Between two events no write is missing. */
export const reliable = forEachStretch('reliable', ({ frames }, truth) => {
  const versions = frames.filter(isObject).map((frame) => frame.version);
  return versions.slice(1).flatMap((version, i) => missing(truth, versions[i]!, version - 1n));
});

/**
 * A bookmark promises that everything up to it was sent: nothing at or below it comes later, and
 * nothing is missing.
 */
export const bookmarkable = forEachStretch('bookmarkable', ({ from, frames }, truth) => {
  const broken: string[] = [];
  let sent = from;
  let promised = from;
  for (const frame of frames) {
    if (frame.type === 'BOOKMARK') {
      if (frame.version < sent) broken.push(`a bookmark of ${frame.version} came after ${sent}`);
      broken.push(...missing(truth, sent, frame.version));
      if (frame.version > promised) promised = frame.version;
    } else if (isObject(frame) && frame.version <= promised && promised > from) {
      broken.push(`${stateName(frame)} came after a bookmark of ${promised}`);
    }
    if (frame.type !== 'ERROR' && frame.version > sent) sent = frame.version;
  }
  return broken;
});

/** Every event is a write, of the right kind, with the right object. */
export const genuine = forEachStretch('genuine', ({ frames }, truth) =>
  frames.filter(isObject).flatMap((frame) => {
    const wrong = mistake(frame, truth);
    return wrong === undefined ? [] : [`${frame.type} ${stateName(frame)}: ${wrong}`];
  }),
);

/** A list is what was there at its version, all of it, whether it came by pages or was streamed. */
export const listed: Rule = (truth, { requests }) =>
  listsOf(requests)
    .flatMap(({ version, items }) =>
      stateDifferences(`the list of ${version}`, items, truth.asOf(version)),
    )
    .map((message) => ({ rule: 'listed', message }));

/**
 * A watch goes on from the last version that came: below, events come twice; above, they are lost.
 */
export const continued: Rule = (_, { requests }) => {
  const broken: Violation[] = [];
  let last: bigint | undefined;
  for (const [i, request] of requests.entries()) {
    if (request.type === 'list') {
      if (request.complete) last = request.version;
      continue;
    }
    if (!request.initial && last !== undefined && request.from !== String(last)) {
      const message =
        `request ${i} watches from ` +
        `${JSON.stringify(request.from)}, the last version that ` +
        `came is ${last}`;
      broken.push({ rule: 'continued', message });
    }
    last = lastVersion(request) ?? last;
  }
  return broken;
};

/** No list is older than what is known already: a cache never goes back in time. */
export const forward: Rule = (_, { requests }) => {
  const broken: Violation[] = [];
  let newest = -1n;
  for (const [i, request] of requests.entries()) {
    const list =
      request.type === 'list' ? (request.complete ? request : undefined) : streamedList(request);
    if (list?.version !== undefined && list.version < newest) {
      broken.push({
        rule: 'forward',
        message: `request ${i} got a list of ${list.version} after ${newest}`,
      });
    }
    for (const version of [
      list?.version,
      request.type === 'watch' ? lastVersion(request) : undefined,
    ]) {
      if (version !== undefined && version > newest) newest = version;
    }
  }
  return broken;
};

export const wireRules: readonly Rule[] = [
  ordered,
  unique,
  resumable,
  reliable,
  bookmarkable,
  genuine,
  listed,
  continued,
  forward,
];

/**
 * The version that a reflector holds after this watch. Initial events without their end have told
 * it nothing.
 */
function lastVersion(watch: WatchRecord): bigint | undefined {
  const stretch = stretchOf(watch);
  const last = stretch?.frames.findLast((frame) => frame.type !== 'ERROR');
  if (last !== undefined) return last.version;
  return watch.initial ? stretch?.from : undefined;
}

function missing(truth: Truth, from: bigint, to: bigint): string[] {
  return truth.between(from, to).map((write) => `${stateName(write)} was skipped`);
}

/** What is wrong with an event as a report of a write, or nothing. */
function mistake({ type, key, version, content }: ObjectFrame, truth: Truth): string | undefined {
  const write = truth.at(key, version);
  if (write === undefined) return 'was never written';
  const before = truth.state(key, version - 1n);
  const right =
    write.content === undefined ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED';
  if (type !== right) return `it was ${right}`;
  const expected = write.content ?? before?.content;
  return content === expected ? undefined : `other content than was written: ${content}`;
}
