/**
 * Finding objects for pages that ask each second: for a text that names none, all keys of the
 * caches are read, which takes some 20 ms for 100 000 of them. So an answer that found no exact key
 * is given again for a while.
 */
import type { ObjectReport } from '../report.ts';
import { label } from './words.ts';

export type Find = (text: string, limit: number) => readonly ObjectReport[];

const AGAIN_AFTER_MS = 5000;
const TEXTS = 8;

/**
 * `find(text, limit, now)` in place of `find(text, limit)`; `now` is in milliseconds of any clock.
 */
export function rememberMisses(
  find: Find,
): (text: string, limit: number, now: number) => readonly ObjectReport[] {
  const misses = new Map<string, { at: number; found: readonly ObjectReport[] }>();
  return (text, limit, now) => {
    const known = misses.get(text);
    if (known !== undefined && now - known.at < AGAIN_AFTER_MS) return known.found;
    const found = find(text, limit);
    misses.delete(text);
    if (!found.some((object) => label(object) === text)) misses.set(text, { at: now, found });
    const [oldest] = misses.keys();
    if (oldest !== undefined && misses.size > TEXTS) misses.delete(oldest);
    return found;
  };
}
