/**
 * The script of the live page: it requests the state every second, less often if that takes long,
 * and shows it.
 *
 * Invariants:
 * - The page shows one response at a time, and says if it is old.
 * - The response to an earlier request never replaces that of a later one.
 * - Nothing is requested while the page is hidden.
 */
import { systemClock } from '../../../base/clock.ts';
import type { LivePageState } from '../state.ts';
import { span } from '../words.ts';
import { h, listen, render } from './dom.ts';
import {
  controller,
  informers,
  leadership,
  runnables,
  shards,
  spoken,
  verdictSection,
} from './sections.ts';

const EVERY_MS = 1000;
/** In milliseconds, for a report that takes long, such as that of a queue with 100 000 requests. */
const SELDOM_MS = 5000;
const SHARE = 20;
const TYPING_MS = 120;
const PATIENCE_MS = 8000;
const LIMITS = [50, 250, 1000] as const;

const byId = <E extends HTMLElement>(id: string, kind: new () => E): E => {
  const element = document.getElementById(id);
  if (element instanceof kind) return element;
  throw new Error(`expected an element #${id}`);
};
const filter = byId('filter', HTMLInputElement);
const pause = byId('pause', HTMLButtonElement);
const view = byId('view', HTMLElement);
const lead = byId('lead', HTMLElement);
const status = byId('status', HTMLElement);
const foot = byId('foot', HTMLElement);
const announcer = byId('announcer', HTMLElement);

const address = `${location.pathname.replace(/\/$/, '')}/state`;
let paused = false;
let limit: number = LIMITS[0];
let question = 0;
let timer: unknown;
let asking: AbortController | undefined;
/** The time of the last response. */
let answeredAt: number | undefined;
let problem = '';

function ask(afterMs: number): void {
  systemClock.clearTimer(timer);
  timer = systemClock.setTimer(() => void poll(), afterMs);
}

async function poll(): Promise<void> {
  const mine = ++question;
  asking?.abort();
  asking = new AbortController();
  const began = systemClock.now();
  const signal = AbortSignal.any([asking.signal, AbortSignal.timeout(PATIENCE_MS)]);
  const query = new URLSearchParams({ filter: filter.value.trim(), limit: String(limit) });
  try {
    const response = await fetch(`${address}?${query}`, { signal });
    const body = await read(response);
    if (mine !== question) return;
    answeredAt = systemClock.now();
    problem = '';
    draw(body);
  } catch (error) {
    if (mine !== question) return;
    problem = error instanceof Error ? error.message : String(error);
  }
  drawStatus();
  if (!paused && !document.hidden)
    ask(Math.min(SELDOM_MS, Math.max(EVERY_MS, SHARE * (systemClock.now() - began))));
}

async function read(response: Response): Promise<LivePageState> {
  if (response.ok) return (await response.json()) as LivePageState;
  const text = await response.text();
  let message = text.trim();
  try {
    message = String((JSON.parse(text) as { message?: unknown }).message ?? text);
  } catch {
    // A refusal is plain text, not JSON.
  }
  throw new Error(`${response.status}: ${message}`);
}

function draw(state: LivePageState): void {
  const actions = { choose, more };
  render(lead, leadership(state));
  render(
    view,
    verdictSection(state, actions),
    state.controllers.map((each) => controller(each, state, actions)),
    state.controllers.length === 0 &&
      h('p', { key: 'none', class: 'empty' }, 'This manager has no controllers.'),
    shards(state),
    informers(state),
    runnables(state),
  );
  const { startedAgoMs, version } = state;
  render(
    foot,
    `capstan ${version} · `,
    startedAgoMs === undefined ? 'not started' : `up ${span(startedAgoMs)}`,
  );
  const say = spoken(state);
  if (announcer.textContent !== say) announcer.textContent = say;
  mark('filter', state.filter);
}

function drawStatus(): void {
  const old = answeredAt === undefined ? 0 : systemClock.now() - answeredAt;
  mark('state', problem !== '' ? 'lost' : paused ? 'paused' : 'live');
  const shown =
    answeredAt === undefined
      ? 'Nothing was heard of it yet.'
      : `What is shown is ${span(old)} old.`;
  const text =
    problem !== ''
      ? `No answer from the process (${problem}). ${shown}`
      : paused
        ? 'Paused'
        : 'Live';
  if (status.textContent !== text) status.textContent = text;
}

/** Sets a data attribute for the style sheet and for tests. */
function mark(name: 'filter' | 'state', value: string): void {
  const { dataset } = document.documentElement;
  if (dataset[name] !== value) dataset[name] = value;
}

function choose(key: string): void {
  filter.value = key;
  filter.focus({ preventScroll: true });
  scrollTo({ top: 0 });
  filtered();
}

function more(): void {
  limit = LIMITS.find((each) => each > limit) ?? limit;
  ask(0);
}

function filtered(): void {
  const wanted = filter.value.trim();
  const hash = wanted === '' ? '' : `#${encodeURIComponent(wanted)}`;
  history.replaceState(null, '', `${location.pathname}${location.search}${hash}`);
  document.title = wanted === '' ? 'capstan' : `${wanted} · capstan`;
  ask(TYPING_MS);
}

function setPaused(to: boolean): void {
  paused = to;
  pause.textContent = paused ? 'Resume' : 'Pause';
  drawStatus();
  if (paused) systemClock.clearTimer(timer);
  else ask(0);
}

function fromAddress(): void {
  try {
    filter.value = decodeURIComponent(location.hash.slice(1));
  } catch {
    filter.value = '';
  }
  filtered();
}

listen(view);
filter.addEventListener('input', filtered);
pause.addEventListener('click', () => setPaused(!paused));
addEventListener('hashchange', fromAddress);
document.addEventListener('visibilitychange', () => {
  if (document.hidden) systemClock.clearTimer(timer);
  else if (!paused) ask(0);
});
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape' && filter.value !== '') {
    filter.value = '';
    filtered();
  } else if (document.activeElement === filter) return;
  else if (event.key === '/') {
    event.preventDefault();
    filter.focus();
    filter.select();
  } else if (event.key === 'p') setPaused(!paused);
});
fromAddress();
