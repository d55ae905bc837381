/**
 * Draws nodes as cards and Pods as tiles on them. Invariants: a Pod keeps its element for its whole
 * life, so that the focus stays on it and changes can be animated; the document is updated at most
 * once per frame, and only where something changed.
 */
import type { NodeObject, PodObject } from '../resources.ts';
import { element, setText } from './dom.ts';
import { isReady, reasonOf, type State, stateOf } from './states.ts';

/** The card of Pods without a node. */
const NOWHERE = '';

interface Card {
  readonly root: HTMLElement;
  readonly note: HTMLElement;
  readonly count: HTMLElement;
  readonly tiles: HTMLElement;
}

export interface BoardSource {
  pod(key: string): PodObject | undefined;
  node(name: string): NodeObject | undefined;
  /** Whether the Pod passes the filter. */
  matches(pod: PodObject): boolean;
}

export class Board {
  readonly #root: HTMLElement;
  readonly #source: BoardSource;
  readonly #onDrawn: () => void;
  readonly #cards = new Map<string, Card>();
  readonly #tiles = new Map<string, HTMLButtonElement>();
  /** Keys of changed Pods, and whether to animate the change. */
  readonly #pods = new Map<string, boolean>();
  readonly #nodes = new Set<string>();
  #frame = 0;

  constructor(root: HTMLElement, source: BoardSource, onDrawn: () => void) {
    this.#root = root;
    this.#source = source;
    this.#onDrawn = onDrawn;
  }

  podChanged(key: string, visibly: boolean): void {
    this.#pods.set(key, visibly || this.#pods.get(key) === true);
    this.#schedule();
  }

  nodeChanged(name: string): void {
    this.#nodes.add(name);
    this.#schedule();
  }

  /** Redraws all Pods, for example after a change of the filter. */
  everythingChanged(): void {
    for (const key of this.#tiles.keys()) this.podChanged(key, false);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    this.#frame = 0;
    const cards = new Set(this.#nodes);
    for (const [key, visibly] of this.#pods)
      for (const node of this.#drawPod(key, visibly)) cards.add(node);
    for (const name of cards) this.#drawCard(name);
    this.#pods.clear();
    this.#nodes.clear();
    this.#onDrawn();
  }

  /** Draws a Pod and returns the names of the changed cards. */
  #drawPod(key: string, visibly: boolean): string[] {
    const pod = this.#source.pod(key);
    const tile = this.#tiles.get(key);
    const before = tile?.closest<HTMLElement>('.card')?.dataset.node;
    if (pod === undefined) {
      if (tile === undefined) return [];
      this.#tiles.delete(key);
      leave(tile);
      return [before ?? NOWHERE];
    }
    const now = pod.spec?.nodeName ?? NOWHERE;
    const shown = tile ?? element('button', { type: 'button', class: 'pod', 'data-key': key });
    this.#tiles.set(key, shown);
    const state = stateOf(pod);
    shown.dataset.state = state;
    shown.title = `${key}: ${reasonOf(pod)}`;
    shown.setAttribute('aria-label', `${key}, ${state}`);
    shown.classList.toggle('out', !this.#source.matches(pod));
    if (before !== now) this.#card(now).tiles.append(shown);
    if (visibly) flash(shown, tile === undefined ? 'came' : 'changed');
    return before === undefined || before === now ? [now] : [before, now];
  }

  #drawCard(name: string): void {
    const node = this.#source.node(name);
    const known = this.#cards.get(name);
    if (known === undefined && node === undefined) return;
    const card = this.#card(name);
    const tiles = [...card.tiles.querySelectorAll<HTMLElement>('.pod:not(.left)')];
    if (node === undefined && tiles.length === 0) {
      card.root.remove();
      this.#cards.delete(name);
      return;
    }
    const within = tiles.filter((tile) => !tile.classList.contains('out')).length;
    setText(card.count, within === tiles.length ? `${within}` : `${within} of ${tiles.length}`);
    if (name === NOWHERE) return;
    const state = node === undefined ? 'unknown' : isReady(node) ? 'ready' : 'away';
    if (card.root.dataset.ready !== undefined && card.root.dataset.ready !== state)
      flash(card.root, 'changed');
    card.root.dataset.ready = state;
    const zone = node?.metadata.labels?.['topology.kubernetes.io/zone'];
    const cordoned = node?.spec?.unschedulable === true ? 'cordoned' : undefined;
    const trouble = { ready: undefined, away: 'not ready', unknown: 'no such node' }[state];
    setText(card.note, [zone, cordoned, trouble].filter((part) => part !== undefined).join(' · '));
  }

  #card(name: string): Card {
    const known = this.#cards.get(name);
    if (known !== undefined) return known;
    const note = element('span', { class: 'card-note' });
    const count = element('span', { class: 'card-count' }, '0');
    const tiles = element('div', { class: 'tiles' });
    const title = element('h2', { class: 'card-name' }, name === NOWHERE ? 'On no node yet' : name);
    const head = element('div', { class: 'card-head' }, title, note, count);
    const root = element('section', { class: 'card', 'data-node': name }, head, tiles);
    const card = { root, note, count, tiles };
    this.#cards.set(name, card);
    // Sorted by name; the card of Pods without a node is last.
    const behind = [...this.#cards].filter(
      ([other]) => name !== NOWHERE && (other === NOWHERE || other > name),
    );
    const next = behind.sort(([a], [b]) =>
      a === NOWHERE ? 1 : b === NOWHERE || a < b ? -1 : 1,
    )[0];
    this.#root.insertBefore(root, next?.[1].root ?? null);
    return card;
  }

  /** The number of Pods that pass the filter, by state and in total, and of all Pods. */
  counts(): { states: Map<State, number>; within: number; all: number } {
    const states = new Map<State, number>();
    let within = 0;
    for (const tile of this.#tiles.values()) {
      if (tile.classList.contains('out')) continue;
      within++;
      const state = tile.dataset.state as State;
      states.set(state, (states.get(state) ?? 0) + 1);
    }
    return { states, within, all: this.#tiles.size };
  }
}

/** Starts the animation, again if it is running. */
function flash(of: HTMLElement, how: 'came' | 'changed'): void {
  of.classList.remove('came', 'changed');
  void of.offsetWidth; // forces a reflow, so that adding the class again restarts the animation
  of.classList.add(how);
}

/** Removes a tile after its animation; there is none with prefers-reduced-motion. */
function leave(tile: HTMLButtonElement): void {
  tile.classList.add('left');
  tile.disabled = true;
  const animations = tile
    .getAnimations()
    .filter((animation) => (animation as CSSAnimation).animationName === 'leave');
  void Promise.allSettled(animations.map(({ finished }) => finished)).then(() => tile.remove());
}
