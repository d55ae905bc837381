/**
 * Prints plain data as readable YAML: block style, one document. Invariant: a parser of YAML 1.1 or
 * 1.2 returns the same data. A string that either version could read as another type is quoted as
 * in JSON.
 */
import { CapstanError } from 'capstan/workqueue';

/** The YAML text, which ends in a line feed. Undefined members are omitted, as in JSON. */
export function yamlOf(value: unknown): string {
  return isBlock(value) ? block(value, '') : `${scalar(value)}\n`;
}

type Block = readonly unknown[] | Readonly<Record<string, unknown>>;

function isBlock(value: unknown): value is Block {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).some((member) => member !== undefined)
  );
}

function block(value: Block, indent: string): string {
  if (Array.isArray(value))
    return value.map((item: unknown) => `${indent}- ${inItem(item, indent)}`).join('');
  return Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => {
      const value = isBlock(member) ? `\n${below(member, indent)}` : ` ${scalar(member)}\n`;
      return `${indent}${text(key)}:${value}`;
    })
    .join('');
}

/** Lists are indented like their key, as kubectl prints them. */
function below(value: Block, indent: string): string {
  return block(value, Array.isArray(value) ? indent : `${indent}  `);
}

/** The first line follows the dash. */
function inItem(value: unknown, indent: string): string {
  return isBlock(value)
    ? block(value, `${indent}  `).slice(indent.length + 2)
    : `${scalar(value)}\n`;
}

function scalar(value: unknown): string {
  if (typeof value === 'string') return text(value);
  if (Array.isArray(value)) return '[]';
  if (typeof value === 'object' && value !== null) return '{}';
  if (typeof value === 'number' || typeof value === 'boolean' || value === null)
    return String(value);
  throw new CapstanError('INVALID_ARGUMENT', `expected plain data, got ${typeof value}`);
}

/**
 * Texts that need no quotes: words of letters and characters without a meaning in YAML. Numbers and
 * dates begin otherwise; keywords are quoted.
 */
const PLAIN = /^[A-Za-z][-\w./]*( [-\w./,()]+)*$/;
const KEYWORD = /^(?:y|n|yes|no|on|off|true|false|null|none)$/i;

/** Characters that JSON allows in a string, but YAML 1.1 forbids or reads as line ends. */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\ufeff]/g;

/** Whether YAML 1.1 or 1.2 reads an unquoted word as something other than a string. */
export function isKeyword(word: string): boolean {
  return KEYWORD.test(word);
}

function text(value: string): string {
  if (PLAIN.test(value) && !isKeyword(value)) return value;
  return JSON.stringify(value).replace(
    UNPRINTABLE,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
