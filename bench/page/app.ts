/**
 * The page: shows the result of a run while it is measured, when it has ended, or from a shared
 * link. `data-state` of the root element is the state: idle, running, done, stopped, failed or
 * shared.
 */
import { Controls } from './controls.ts';
import { byId } from './dom.ts';
import { showSeconds } from './format.ts';
import { environmentHere, showEnvironment } from './machine.ts';
import { type Item, type Plan, plannedItems, planOf, STEADY_RATE } from './plan.ts';
import type { PagePeerName, SteadySlice, WorkerFacts } from './protocol.ts';
import { type Result, type Row, rowOf, type Steady, SteadyTally } from './result.ts';
import { runPlan, WorkerError } from './run.ts';
import { decodeResult, looksShared, ShareError } from './share.ts';
import { ShareButtons } from './share-buttons.ts';
import { SteadyChart } from './steady-view.ts';
import { showSummary } from './summary.ts';
import { ThroughputChart } from './throughput.ts';
import { showWinner } from './winner.ts';

type State = 'idle' | 'running' | 'done' | 'stopped' | 'failed' | 'shared';

const throughput = new ThroughputChart(byId('throughput', HTMLElement));
const steadyChart = new SteadyChart(byId('steady', HTMLElement));
const summary = byId('summary', HTMLElement);
const winner = byId('winner', HTMLElement);
const machine = byId('machine', HTMLElement);
const notice = byId('notice', HTMLElement);
const shared = byId('shared', HTMLElement);
const steadySection = byId('steady-section', HTMLElement);
const shareButtons = new ShareButtons();

let stop = new AbortController();
let facts: WorkerFacts | undefined;

function enter(state: State): void {
  document.documentElement.dataset.state = state;
}

function tell(text: string): void {
  notice.textContent = text;
  notice.hidden = text === '';
}

/** Draws empty charts for the works of a plan. */
function lay(items: readonly Item[], steadySeconds: number): void {
  throughput.lay(items);
  steadySection.hidden = steadySeconds === 0;
  if (steadySeconds > 0) steadyChart.lay(steadySeconds);
  showSummary(summary, [], undefined);
  showWinner(winner, [], false);
}

function idle(plan: Plan, text?: string): void {
  enter('idle');
  shared.hidden = true;
  lay(plannedItems(plan), plan.live === 0 ? 0 : plan.seconds);
  showEnvironment(machine, environmentHere(facts, false), facts !== undefined);
  void shareButtons.offer(undefined);
  controls.ready(plan, text);
}

/** The figures of a run so far. */
class Run {
  readonly rows = new Map<string, Row>();
  hidden = document.hidden;
  readonly #plan: Plan;
  readonly #tallies: Record<PagePeerName, SteadyTally>;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#tallies = {
      capstan: new SteadyTally(plan.seconds),
      naive: new SteadyTally(plan.seconds),
    };
  }

  slice(peer: PagePeerName, slice: SteadySlice): void {
    this.#tallies[peer].add(slice);
  }

  sides(): Pick<Steady, PagePeerName> {
    return { capstan: this.#tallies.capstan.side(), naive: this.#tallies.naive.side() };
  }

  /** Undefined until both peers have had a turn. */
  steady(): Steady | undefined {
    if (this.#tallies.capstan.ms === 0 || this.#tallies.naive.ms === 0) return undefined;
    return {
      live: this.#plan.live,
      rate: STEADY_RATE,
      seconds: this.#plan.seconds,
      ...this.sides(),
    };
  }

  result(stopped: boolean): Result | undefined {
    const steady = this.steady();
    if (this.rows.size === 0 && steady === undefined) return undefined;
    const environment = environmentHere(facts, this.hidden);
    return { at: Date.now(), stopped, environment, rows: [...this.rows.values()], steady };
  }
}

/** Runs a plan. Resolves when the run is done, stopped or failed. */
async function start(plan: Plan): Promise<void> {
  const run = new Run(plan);
  const own = new AbortController();
  stop = own;
  tell('');
  idle(plan);
  controls.running();
  enter('running');
  const begun = performance.now();
  let part = 0;
  let drawn = 0;
  const onHidden = (): void => {
    run.hidden ||= document.hidden;
  };
  document.addEventListener('visibilitychange', onHidden);
  const drawSteady = (): void => steadyChart.show(run.sides(), facts?.resolutionMs ?? 0);

  let state: State = 'done';
  try {
    await runPlan(plan, own.signal, {
      facts(found) {
        facts = found;
        showEnvironment(machine, environmentHere(facts, run.hidden), true);
      },
      progress(progress) {
        part = progress.part;
        controls.progress(part, progress.text);
      },
      line: (item) => throughput.mark(item),
      sample(item, samples) {
        const row = rowOf(item, samples);
        if (row === undefined) return;
        run.rows.set(`${item.work} ${item.n}`, row);
        throughput.show(row);
        showSummary(summary, [...run.rows.values()], run.steady());
        showWinner(winner, [...run.rows.values()], true);
      },
      slice(peer, _turn, slice) {
        run.slice(peer, slice);
        if (drawn === 0) {
          drawn = requestAnimationFrame(() => {
            drawn = 0;
            drawSteady();
            showSummary(summary, [...run.rows.values()], run.steady());
          });
        }
      },
    });
  } catch (error) {
    if (own.signal.aborted) state = 'stopped';
    else {
      state = 'failed';
      const code =
        error instanceof WorkerError && error.code !== undefined ? ` (${error.code})` : '';
      tell(`The run failed${code}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throughput.mark(undefined);
  document.removeEventListener('visibilitychange', onHidden);
  cancelAnimationFrame(drawn);
  if (stop !== own) return; // a shared result was opened meanwhile and has taken the page
  drawSteady();
  const result = run.result(state !== 'done');
  if (result) showEnvironment(machine, result.environment, true);
  showSummary(summary, result?.rows ?? [], result?.steady);
  showWinner(winner, result?.rows ?? [], result?.stopped ?? false);
  const took = showSeconds((performance.now() - begun) / 1000);
  const text = {
    done: `Done in ${took}.`,
    stopped: `Stopped after ${took}.`,
    failed: `Failed after ${took}.`,
  }[state];
  controls.ended(
    state === 'done' ? 1 : part,
    result || state === 'failed' ? text : `${text} Nothing was measured yet.`,
  );
  await shareButtons.offer(result);
  if (stop === own) enter(state);
}

function showShared(result: Result): void {
  const seconds = result.steady?.seconds ?? 0;
  lay(result.rows, seconds);
  for (const row of result.rows) throughput.show(row);
  if (result.steady) {
    steadyChart.show(result.steady, result.environment.resolutionMs);
  }
  showSummary(summary, result.rows, result.steady);
  showWinner(winner, result.rows, result.stopped);
  showEnvironment(machine, result.environment, true);
  const { browser, platform } = result.environment;
  const when = new Date(result.at).toISOString().slice(0, 16).replace('T', ' ');
  byId('shared-text', HTMLElement).textContent =
    `Measured elsewhere, not on this machine: ${browser} on ${platform}, ${when} ` +
    `UTC${result.stopped ? ', stopped early' : ''}. ` +
    'The link carries these figures; nobody has checked them.';
  shared.hidden = false;
}

/**
 * Shows the result in the fragment of the address. Resolves to false if there is none or it is not
 * valid.
 */
async function openFragment(): Promise<boolean> {
  const fragment = location.hash;
  if (!looksShared(fragment)) return false;
  try {
    const result = await decodeResult(fragment);
    if (location.hash !== fragment) return true; // a later fragment has its own call
    stop.abort();
    stop = new AbortController();
    tell('');
    showShared(result);
    controls.ready(controls.plan(), 'A shared result is shown');
    await shareButtons.offer(result);
    enter('shared');
    return true;
  } catch (error) {
    if (!(error instanceof ShareError)) throw error;
    tell(
      `This link holds no result that can be shown: ${error.message}. You can measure here ` +
        'instead.',
    );
    return false;
  }
}

/** Removes a shared result from the address, so that a reload does not show it again. */
function forgetFragment(): void {
  if (looksShared(location.hash))
    history.replaceState(null, '', location.pathname + location.search);
}

const controls = new Controls({
  change(plan) {
    forgetFragment();
    idle(plan);
  },
  start(plan) {
    forgetFragment();
    void start(plan);
  },
  stop: () => stop.abort(),
});

byId('own', HTMLButtonElement).addEventListener('click', () => {
  forgetFragment();
  idle(controls.plan());
  byId('start', HTMLButtonElement).focus();
});

const preset = planOf(location.search);
controls.show(preset.plan);
idle(preset.plan);
tell(preset.problems.join(' '));
void openFragment();
addEventListener('hashchange', () => void openFragment());
