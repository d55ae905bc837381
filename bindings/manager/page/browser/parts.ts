/**
 * Small elements that the sections of the page share. A state is shown by the shape of its mark and
 * by a word, not only by colour.
 */

import type { Request } from '../../../base/request.ts';
import type { Cause, ErrorReport } from '../../../controller/index.ts';
import { causeText, label, span } from '../words.ts';
import { button, type Child, type Description, h } from './dom.ts';

/** The marks of page.css: a disc, a disc in a ring, a ring, a triangle, a square, a dash. */
export type Mark = 'good' | 'busy' | 'wait' | 'fail' | 'stop' | 'none';

export const state = (mark: Mark, ...words: Child[]): Description =>
  h(
    'span',
    { class: `state ${mark}` },
    h('i', { class: 'mark', 'aria-hidden': 'true' }),
    h('span', {}, words),
  );

/** 1 234 567, with narrow no-break spaces. */
export const figure = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  const [size, unit] =
    n < 1024 ** 2
      ? [n / 1024, 'KiB']
      : n < 1024 ** 3
        ? [n / 1024 ** 2, 'MiB']
        : [n / 1024 ** 3, 'GiB'];
  return `${size.toFixed(size < 10 ? 1 : 0)} ${unit}`;
}

/** The name of an object; a click filters by it. */
export function keyButton(request: Request, choose: (key: string) => void): Description {
  const text = label(request);
  const { namespace, name } = request;
  return button(
    { class: 'key' },
    () => choose(text),
    namespace !== '' && h('span', { class: 'soft' }, `${namespace}/`),
    name,
  );
}

/** An error on one line; a longer one can be opened. */
export function errorLine(error: ErrorReport): Description {
  const { message } = error;
  if (message.length <= 100 && !message.includes('\n'))
    return h('div', { class: 'error' }, errorHead(error), message);
  return h(
    'details',
    { class: 'error' },
    h('summary', {}, errorHead(error), h('span', { class: 'error-line' }, message.slice(0, 240))),
    h('div', { class: 'error-whole' }, message),
  );
}

export const errorWhole = (error: ErrorReport): Description =>
  h(
    'div',
    { class: 'error' },
    errorHead(error),
    h('span', { class: 'error-whole' }, error.message),
  );

const errorHead = ({ name, agoMs }: ErrorReport): Description =>
  h('span', { class: 'error-name' }, `${name}, ${span(agoMs)} ago `);

interface WithCauses extends Request {
  readonly causes: readonly Cause[];
  readonly moreCauses: number;
}

/** The first cause as text and the number of others, which can be opened. */
export function causesText(
  { causes, moreCauses: more, ...request }: WithCauses,
  now: number,
): Child {
  const [first, ...rest] = causes;
  if (first === undefined) return h('span', { class: 'soft' }, '–');
  const others = rest.length + more;
  if (others === 0) return causeText(first, request);
  return h(
    'details',
    { class: 'causes' },
    h(
      'summary',
      {},
      causeText(first, request),
      h('span', { class: 'soft' }, ` +${figure(others)}`),
    ),
    causeList({ causes, moreCauses: more, ...request }, now),
  );
}

export function causeList(
  { causes, moreCauses: more, ...request }: WithCauses,
  now: number,
): Description {
  return h(
    'ul',
    {},
    causes.map((cause) =>
      h(
        'li',
        {},
        causeText(cause, request),
        h('span', { class: 'soft' }, `, ${span(now - cause.at)} ago`),
      ),
    ),
    more > 0 && h('li', { class: 'soft' }, `${figure(more)} more`),
  );
}

export interface TableColumn {
  readonly title: string;
  /**
   * `main` has its own line on narrow screens; `figure` and `time` are right-aligned; `wide` takes
   * the remaining width.
   */
  readonly kind?: 'main' | 'time' | 'figure' | 'wide' | 'plain';
}

export interface Row {
  readonly key: string;
  readonly cells: readonly Child[];
  /** Shown below the row, over its whole width. */
  readonly below?: Child;
}

/** Roles are explicit, because rows become blocks on narrow screens and would lose them. */
export function table(
  caption: string,
  columns: readonly TableColumn[],
  rows: readonly Row[],
): Description {
  const cell = (content: Child, { title, kind = 'plain' }: TableColumn): Description =>
    h('td', { role: 'cell', class: kind, 'data-title': title }, content);
  return h(
    'table',
    { role: 'table', 'aria-label': caption },
    h(
      'thead',
      { role: 'rowgroup' },
      h(
        'tr',
        { role: 'row' },
        columns.map(({ title, kind = 'plain' }) =>
          h('th', { role: 'columnheader', scope: 'col', class: kind }, title),
        ),
      ),
    ),
    h(
      'tbody',
      { role: 'rowgroup' },
      rows.flatMap(({ key, cells, below }) =>
        [
          h(
            'tr',
            { role: 'row', key },
            columns.map((column, index) => cell(cells[index], column)),
          ),
          below
            ? h(
                'tr',
                { role: 'row', key: `below ${key}`, class: 'below' },
                h('td', { role: 'cell', colspan: columns.length }, below),
              )
            : undefined,
        ].filter((row) => row !== undefined),
      ),
    ),
  );
}
