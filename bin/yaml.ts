/**
 * Plain data as YAML that people read: block style, one document. Invariant: a parser of YAML 1.1
 * or 1.2 gives the data back. For that, each text that either might take for something else is
 * quoted as in JSON.
 */
import { CapstanError } from 'capstan';

/** Ends with a line feed. Members that are undefined are left out, as in JSON. */
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

/** Lists are as deep as the key they belong to, as kubectl writes them. */
function below(value: Block, indent: string): string {
  return block(value, Array.isArray(value) ? indent : `${indent}  `);
}

/** The first line stands behind the dash. */
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
 * Words of letters, with what never means anything inside of one; whatever looks like a number, a
 * date or a keyword begins otherwise or is quoted.
 */
const PLAIN = /^[A-Za-z][-\w./]*( [-\w./,()]+)*$/;
const KEYWORD = /^(?:y|n|yes|no|on|off|true|false|null|none)$/i;

/** What JSON allows in a string and YAML 1.1 does not, or takes for the end of a line. */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\ufeff]/g;

/** Whether YAML 1.1 or 1.2 would take a plain word for something else than text. */
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
