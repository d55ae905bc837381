/** Values in failure messages: readable, and never the cause of another failure. */
import { Expectation } from './equality.ts';

const LONGEST = 400;

function text(value: unknown, depth: number): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'function') return `a function${value.name === '' ? '' : ` ${value.name}`}`;
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Expectation) return value.text;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (depth > 4) return '…';
  const inner = (part: unknown): string => text(part, depth + 1);
  if (Array.isArray(value)) return `[${value.map(inner).join(', ')}]`;
  if (value instanceof Set) return `Set {${[...value].map(inner).join(', ')}}`;
  if (value instanceof Map)
    return `Map {${[...value].map(([k, v]) => `${inner(k)} => ${inner(v)}`).join(', ')}}`;
  const name: unknown = value.constructor?.name;
  const prefix = typeof name === 'string' && name !== '' && name !== 'Object' ? `${name} ` : '';
  const fields = Object.entries(value).map(
    ([key, part]) => `${JSON.stringify(key)}: ${inner(part)}`,
  );
  return `${prefix}{${fields.join(', ')}}`;
}

export function showValue(value: unknown): string {
  try {
    const shown = text(value, 0);
    return shown.length > LONGEST ? `${shown.slice(0, LONGEST)}…` : shown;
  } catch {
    return 'a value that cannot be shown';
  }
}
