/**
 * Tables whose layout changes with the width of the screen. A table that CSS displays as a grid
 * loses its meaning to screen readers unless the roles are written out.
 */
import { html } from './dom.ts';

type Content = Node | string;

export interface Column {
  text: Content;
  class?: string;
}

export function resultTable(
  label: string,
  columns: readonly Column[],
  ...bodies: HTMLElement[]
): HTMLElement {
  const heads = columns.map(({ text, class: name = '' }) =>
    html('th', { scope: 'col', role: 'columnheader', class: `column ${name}` }, text),
  );
  const head = html(
    'thead',
    { class: 'head', role: 'rowgroup' },
    html('tr', { role: 'row' }, ...heads),
  );
  return html('table', { class: 'blocks', role: 'table', 'aria-label': label }, head, ...bodies);
}

export const body = (...rows: HTMLElement[]): HTMLElement =>
  html('tbody', { class: 'blocks', role: 'rowgroup' }, ...rows);

export const row = (name: string, ...cells: HTMLElement[]): HTMLElement =>
  html('tr', { class: name, role: 'row' }, ...cells);

export const cell = (name: string, ...content: Content[]): HTMLElement =>
  html('td', { class: name, role: 'cell' }, ...content);

export const rowHead = (name: string, ...content: Content[]): HTMLElement =>
  html('th', { class: name, role: 'rowheader', scope: 'row' }, ...content);
