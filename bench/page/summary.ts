/**
 * The few figures above the charts. Empty boxes are drawn before the run, so that nothing on the
 * page moves when figures come.
 */
import { showCount } from '../measure/figures.ts';
import { html } from './dom.ts';
import { showMs, showRatio } from './format.ts';
import { countsLine } from './report.ts';
import {
  type Outcome,
  outcomeOfMean,
  overlaps,
  pageRatio,
  pageVerdict,
  type Row,
  type Steady,
} from './result.ts';

interface Box {
  title: string;
  figure: string;
  note: string;
  kind?: Outcome;
}

const nameOf = (row: Row): string => `${row.work}, ${showCount(row.n)} keys`;
const kindOf = (ratio: number): 'win' | 'loss' => (ratio < 1 ? 'win' : 'loss');

function boxes(rows: readonly Row[], steady: Steady | undefined): Box[] {
  const verdict = pageVerdict(rows);
  const all: Box[] =
    verdict === undefined
      ? ['Geometric mean', 'Best', 'Worst'].map((title) => ({
          title,
          figure: '–',
          note: 'not measured yet',
        }))
      : [
          {
            title: 'Geometric mean',
            figure: showRatio(verdict.mean.ratio),
            note: countsLine(verdict),
            kind: outcomeOfMean(verdict.mean),
          },
          ...(['best', 'worst'] as const).map(
            (which): Box => ({
              title: which === 'best' ? 'Best' : 'Worst',
              figure: showRatio(pageRatio(verdict[which])),
              note: nameOf(verdict[which]) + (overlaps(verdict[which]) ? '; within the noise' : ''),
              kind: overlaps(verdict[which]) ? 'noise' : kindOf(pageRatio(verdict[which])),
            }),
          ),
        ];
  if (steady === undefined)
    all.push({ title: 'Longest pause', figure: '–', note: 'steady load: not measured yet' });
  else {
    const [ours, theirs] = [steady.capstan.longest, steady.naive.longest];
    all.push({
      title: 'Longest pause',
      figure: showMs(ours),
      note:
        `naive port ${showMs(theirs)}; ${showCount(steady.live)} live keys, ` +
        `${steady.seconds} s each`,
      kind: kindOf(ours / theirs),
    });
  }
  return all;
}

export function showSummary(
  container: HTMLElement,
  rows: readonly Row[],
  steady: Steady | undefined,
): void {
  container.replaceChildren(
    ...boxes(rows, steady).map(({ title, figure, note, kind }) =>
      html(
        'div',
        { class: 'box' },
        html('h3', { class: 'box-title' }, title),
        html('p', { class: `box-figure ${kind ?? ''}` }, figure),
        html('p', { class: 'box-note' }, note),
      ),
    ),
  );
}
