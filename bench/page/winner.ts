/**
 * The first section of the page: which side wins on this browser and by how much, over all works
 * and for each of them, or that the difference is within the noise.
 */
import { html } from './dom.ts';
import { showRatio } from './format.ts';
import { countsLine } from './report.ts';
import {
  type Mean,
  type Outcome,
  outcomeOfMean,
  pageVerdict,
  type Row,
  type Verdict,
} from './result.ts';

const HEADLINES: Record<Outcome, string> = {
  win: 'On this browser Capstan wins',
  loss: 'On this browser the naive port wins',
  noise: 'On this browser neither side wins',
};

/** "1.60× faster to 2.10× faster". */
const rangeOf = ({ low, high }: Mean): string => `${showRatio(high)} to ${showRatio(low)}`;

function sentenceOf(verdict: Verdict, isPart: boolean): string {
  const { mean } = verdict;
  const size =
    outcomeOfMean(mean) === 'noise'
      ? `The geometric mean says that Capstan is ${showRatio(mean.ratio)}, but the rounds allow ` +
        `${rangeOf(mean)}: the difference may be chance.`
      : `Capstan is ${showRatio(mean.ratio)} in geometric mean over the works, ` +
        `${rangeOf(mean)} over the rounds.`;
  return `${size} ${countsLine(verdict)}${isPart ? ' Not all is measured yet.' : ''}`;
}

function workOf({ work, mean }: Verdict['works'][number]): HTMLElement {
  const outcome = outcomeOfMean(mean);
  return html(
    'li',
    { class: `winner-work ${outcome}`, title: rangeOf(mean) },
    html('span', { class: 'winner-name' }, work),
    html('b', {}, outcome === 'noise' ? 'noise' : showRatio(mean.ratio)),
  );
}

/** @param isPart whether the run goes on or was stopped */
export function showWinner(container: HTMLElement, rows: readonly Row[], isPart: boolean): void {
  const verdict = pageVerdict(rows);
  if (verdict === undefined) {
    container.className = 'winner';
    container.replaceChildren(
      html('p', { class: 'winner-headline' }, 'Who wins on this browser?'),
      html('p', { class: 'soft' }, 'Not measured yet: press Start.'),
    );
    return;
  }
  const outcome = outcomeOfMean(verdict.mean);
  container.className = `winner winner-${outcome}`;
  container.replaceChildren(
    html('p', { class: `winner-headline ${outcome}` }, HEADLINES[outcome]),
    html('p', {}, sentenceOf(verdict, isPart)),
    html('ul', { class: 'winner-works' }, ...verdict.works.map(workOf)),
  );
}
