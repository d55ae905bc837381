/** The side bar: the freshness of the caches, the selected Pod, the latest changes. */
import type { InformerStatus, SharedIndexInformer } from 'capstan/cache';
import type { PodObject } from '../resources.ts';
import { element, setText } from './dom.ts';
import { reasonOf, stateOf } from './states.ts';

type AnyInformer = Pick<SharedIndexInformer<object>, 'status'>;

const LONGEST_LOG = 40;
/**
 * The server sends a bookmark each minute: after two minutes without one a cache counts as stale.
 */
const STALE_MS = 120_000;

export function ago(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}

const size = (bytes: number): string =>
  bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
const times = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** The state of one informer: the age of the last byte from the server, and the last failure. */
export class Freshness {
  readonly root: HTMLElement;
  readonly #informer: AnyInformer;
  readonly #state = element('span', { class: 'informer-state' });
  readonly #age = element('span', { class: 'informer-age' });
  readonly #bar = element('meter', {
    class: 'informer-bar',
    min: '0',
    max: '1',
    'aria-label': 'freshness',
  });
  readonly #facts = element('p', { class: 'soft' });
  readonly #failure = element('p', { class: 'failure' });

  constructor(name: string, informer: AnyInformer) {
    this.#informer = informer;
    const head = element(
      'div',
      { class: 'informer-head' },
      element('b', {}, name),
      this.#state,
      this.#age,
    );
    this.root = element(
      'div',
      { class: 'informer', 'data-informer': name },
      head,
      this.#bar,
      this.#facts,
      this.#failure,
    );
  }

  draw(): void {
    const { state, lastSignOfLife, objects, bytes, watches, relists, lastFailure } =
      this.#informer.status();
    this.root.dataset.state = state;
    setText(this.#state, state);
    setText(
      this.#age,
      lastSignOfLife === undefined ? 'never heard' : `heard ${ago(lastSignOfLife)} ago`,
    );
    this.#bar.value = lastSignOfLife === undefined ? 0 : Math.max(0, 1 - lastSignOfLife / STALE_MS);
    const facts = [
      times(objects, 'object'),
      size(bytes.live),
      `${times(watches, 'watch').replace('watchs', 'watches')}`,
    ];
    setText(
      this.#facts,
      [...facts, ...(relists > 0 ? [times(relists, 'relist')] : [])].join(' · '),
    );
    setText(this.#failure, lastFailure === undefined ? '' : describeFailure(lastFailure));
  }
}

function describeFailure({
  class: kind,
  next,
  agoMs,
  afterMs,
}: NonNullable<InformerStatus['lastFailure']>): string {
  const wait = afterMs - agoMs;
  return `${kind} failure ${ago(agoMs)} ago, ${next}${wait > 0 ? ` in ${ago(wait)}` : ''}`;
}

/** Draws the details of the selected Pod. */
export function drawDetails(root: HTMLElement, key: string, pod: PodObject | undefined): void {
  const { metadata, spec, status } = pod ?? { metadata: undefined };
  const rows: [name: string, value: string][] = [['name', key]];
  if (metadata === undefined) rows.push(['state', 'gone']);
  else if (pod !== undefined) {
    rows.push(
      ['state', `${stateOf(pod)} (${reasonOf(pod)})`],
      ['node', spec?.nodeName ?? 'none yet'],
    );
    const restarts = (status?.containerStatuses ?? []).reduce(
      (sum, { restartCount = 0 }) => sum + restartCount,
      0,
    );
    if (restarts > 0) rows.push(['restarts', String(restarts)]);
    if (metadata.creationTimestamp !== undefined)
      rows.push(['age', ago(Math.max(0, Date.now() - Date.parse(metadata.creationTimestamp)))]);
    for (const [label, value] of Object.entries(metadata.labels ?? {})) rows.push([label, value]);
  }
  const list = root.querySelector('dl') ?? element('dl');
  if (!list.isConnected) root.replaceChildren(list);
  const cells = rows.flat();
  while (list.children.length > cells.length) list.lastElementChild?.remove();
  for (const [i, cell] of cells.entries())
    setText(list.children[i] ?? list.appendChild(element(i % 2 === 0 ? 'dt' : 'dd')), cell);
}

/** The latest changes, the newest first. */
export class ChangeLog {
  readonly #root: HTMLElement;

  constructor(root: HTMLElement) {
    this.#root = root;
  }

  add(what: string, how: string, state: string): void {
    const time = new Date().toTimeString().slice(0, 8);
    const line = element(
      'li',
      { 'data-state': state },
      element('time', {}, time),
      element('b', {}, what),
      ` ${how}`,
    );
    this.#root.prepend(line);
    while (this.#root.children.length > LONGEST_LOG) this.#root.lastElementChild?.remove();
  }
}
