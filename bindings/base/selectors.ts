/**
 * Label selectors: apimachinery's grammar (pkg/labels/selector.go), compiled to one function per
 * selector, because a watch or lister calls it for every object. The messages are apimachinery's
 * word for word: the embedded API server answers with them.
 */
import { CapstanError, show } from './errors.ts';
import { labelValue, qualifiedName } from './label-rules.ts';

/** The labels of an object. A label that is not a string matches nothing. */
export type Labels = Readonly<Record<string, unknown>>;
type Requirement = (labels: Labels) => boolean;

/** The labels of an object, as a selector takes them; none of an object without. */
export function labelsOf(object: object): Labels {
  const labels: unknown = (object as { metadata?: { labels?: unknown } }).metadata?.labels;
  return typeof labels === 'object' && labels !== null ? (labels as Labels) : {};
}

/**
 * Compiles `a in (x,y),!b,c!=d`: all requirements must hold. `undefined` for a selector that
 * matches everything.
 *
 * @throws CapstanError INVALID_ARGUMENT, with apimachinery's message alone
 */
export function parseLabelSelector(selector: string): ((labels: Labels) => boolean) | undefined {
  const requirements = new LabelParser(selector).parse();
  if (requirements.length === 0) return undefined;
  return (labels) => requirements.every((requirement) => requirement(labels));
}

function malformed(why: string): CapstanError {
  return new CapstanError('INVALID_ARGUMENT', why);
}

type TokenKind =
  | 'identifier'
  | 'in'
  | 'notin'
  | 'end'
  | 'error'
  | '!'
  | '('
  | ')'
  | ','
  | '='
  | '=='
  | '!='
  | '<'
  | '>';
interface Token {
  kind: TokenKind;
  text: string;
}

const SYMBOLS: readonly string[] = ['!', '(', ')', ',', '=', '==', '!=', '<', '>'];
const isSymbol = (character: string): boolean => '=!(),><'.includes(character);
const isBlank = (character: string): boolean => ' \t\r\n'.includes(character);

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    if (isBlank(character)) {
      at++;
    } else if (isSymbol(character)) {
      const two = text.slice(at, at + 2);
      const symbol = SYMBOLS.includes(two) ? two : character;
      tokens.push({ kind: symbol as TokenKind, text: symbol });
      at += symbol.length;
    } else {
      let end = at;
      while (end < text.length && !isSymbol(text.charAt(end)) && !isBlank(text.charAt(end))) end++;
      const word = text.slice(at, end);
      tokens.push({ kind: word === 'in' || word === 'notin' ? word : 'identifier', text: word });
      at = end;
    }
  }
  tokens.push({ kind: 'end', text: '' });
  return tokens;
}

class LabelParser {
  readonly #tokens: Token[];
  #at = 0;

  constructor(selector: string) {
    this.#tokens = tokenize(selector);
  }

  parse(): Requirement[] {
    const requirements: Requirement[] = [];
    for (;;) {
      const next = this.#peek();
      if (next.kind === 'end') return requirements;
      if (next.kind !== 'identifier' && next.kind !== '!') {
        throw malformed(`found '${next.text}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(this.#requirement());
      const after = this.#take();
      if (after.kind === 'end') return requirements;
      if (after.kind !== ',')
        throw malformed(`found '${after.text}', expected: ',' or 'end of string'`);
      const following = this.#peek();
      if (following.kind !== 'identifier' && following.kind !== '!') {
        throw malformed(`found '${following.text}', expected: identifier after ','`);
      }
    }
  }

  /** `in` and `notin` are operators only where an operator is expected. */
  #peek(): Token {
    const token = this.#tokens[this.#at] ?? { kind: 'end', text: '' };
    return token.kind === 'in' || token.kind === 'notin'
      ? { kind: 'identifier', text: token.text }
      : token;
  }

  #take(): Token {
    const token = this.#peek();
    this.#at++;
    return token;
  }

  #requirement(): Requirement {
    let first = this.#take();
    const negated = first.kind === '!';
    if (negated) first = this.#take();
    const key = first.text;
    if (first.kind !== 'identifier') throw this.#fail(`found '${key}', expected: identifier`);
    const wrong = qualifiedName(key);
    if (wrong.length > 0)
      throw this.#fail(`<nil>: Invalid value: ${JSON.stringify(key)}: ${wrong.join('; ')}`);
    if (negated) return (labels) => !Object.hasOwn(labels, key);
    const next = this.#peek();
    if (next.kind === 'end' || next.kind === ',') return (labels) => Object.hasOwn(labels, key);
    return this.#operation(key);
  }

  #operation(key: string): Requirement {
    const operator = this.#tokens[this.#at] ?? { kind: 'end', text: '' };
    this.#at++;
    switch (operator.kind) {
      case 'in':
      case 'notin': {
        const values = this.#validated(key, this.#values());
        return operator.kind === 'in' ? has(key, values) : (labels) => !has(key, values)(labels);
      }
      case '=':
      case '==':
        return has(key, this.#validated(key, [this.#exactValue()]));
      case '!=': {
        const equal = has(key, this.#validated(key, [this.#exactValue()]));
        return (labels) => !equal(labels);
      }
      case '<':
      case '>': {
        const text = this.#exactValue();
        const limit = int64(text);
        if (limit === undefined) {
          const why = "for 'Gt', 'Lt' operators, the value must be an integer";
          throw this.#fail(`values[0]: Invalid value: ${JSON.stringify(text)}: ${why}`);
        }
        this.#validated(key, [text]); // rejects a sign
        return (labels) => {
          const value = int64(labels[key]);
          return value !== undefined && (operator.kind === '>' ? value > limit : value < limit);
        };
      }
      default:
        throw this.#fail(`found '${operator.text}', expected: in, notin, =, ==, !=, gt, lt`);
    }
  }

  #exactValue(): string {
    const next = this.#peek();
    if (next.kind === 'end' || next.kind === ',') return '';
    const token = this.#take();
    if (token.kind !== 'identifier')
      throw this.#fail(`found '${token.text}', expected: identifier`);
    return token.text;
  }

  /** `(a,b)`; an empty value counts: `()`, `(,a)`, `(a,)`. */
  #values(): string[] {
    const open = this.#take();
    if (open.kind !== '(') throw this.#fail(`found '${open.text}' expected: '('`);
    const values = new Set<string>();
    let value: string | undefined;
    for (;;) {
      const token = this.#take();
      if (token.kind === 'identifier' && value === undefined) {
        value = token.text;
      } else if (token.kind === ',') {
        values.add(value ?? '');
        value = undefined;
      } else if (token.kind === ')') {
        values.add(value ?? '');
        return [...values].sort();
      } else {
        const expected =
          value !== undefined
            ? "',' or ')'"
            : values.size > 0
              ? "',', or identifier"
              : "',', ')' or identifier";
        throw this.#fail(`found '${token.text}', expected: ${expected}`);
      }
    }
  }

  #validated(key: string, values: string[]): string[] {
    for (const [at, value] of values.entries()) {
      const wrong = labelValue(value);
      if (wrong.length > 0) {
        throw this.#fail(
          `values[${at}][${key}]: Invalid value: ${JSON.stringify(value)}: ${wrong.join('; ')}`,
        );
      }
    }
    return values;
  }

  #fail(why: string): CapstanError {
    return malformed(`unable to parse requirement: ${why}`);
  }
}

function has(key: string, values: readonly string[]): Requirement {
  return (labels) => {
    const value = labels[key];
    return typeof value === 'string' && Object.hasOwn(labels, key) && values.includes(value);
  };
}

/**
 * A selector as in `spec.selector` of a Deployment. All entries must hold; an empty one matches
 * everything. metav1.LabelSelector.
 */
export interface LabelSelector {
  matchLabels?: Readonly<Record<string, string>> | undefined;
  matchExpressions?:
    | readonly { key: string; operator: string; values?: readonly string[] | undefined }[]
    | undefined;
}

/**
 * Compiles a selector in either form. apimachinery: metav1.LabelSelectorAsSelector, labels.Parse.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function labelMatcher(
  selector: string | LabelSelector,
): (labels: Labels | null | undefined) => boolean {
  try {
    const matches = parseLabelSelector(typeof selector === 'string' ? selector : textOf(selector));
    return matches === undefined ? () => true : (labels) => matches(labels ?? {});
  } catch (cause) {
    const why = cause instanceof CapstanError ? cause.message : show(selector);
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"labelSelector" expected a label selector: ${why}`,
      { cause },
    );
  }
}

/**
 * The text form of a selector, which servers accept; `""` for everything. A text is returned
 * unchanged and unchecked. apimachinery: metav1.FormatLabelSelector, which returns `<none>` for an
 * empty one.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const matchExpressions = [{ key: 'tier', operator: 'Exists' }];
 * labelSelectorText({ matchLabels: { app: 'web' }, matchExpressions }); // app=web,tier
 */
export function labelSelectorText(selector: string | LabelSelector): string {
  if (typeof selector === 'string') return selector;
  labelMatcher(selector); // throws for an invalid selector
  return textOf(selector);
}

/** The text form; parsing it checks keys and values. */
function textOf(selector: LabelSelector): string {
  if (typeof selector !== 'object' || selector === null)
    throw new CapstanError('INVALID_ARGUMENT', `got ${show(selector)}`);
  const { matchLabels, matchExpressions, ...others } = selector;
  const unread = Object.keys(others).join(', ');
  if (unread !== '' || Symbol.iterator in selector)
    throw malformed(`got ${unread || show(selector)}: did you mean { matchLabels: { … } }?`);
  // A promise, a Date or a Map would read as an empty selector, which matches everything.
  for (const part of [selector, matchLabels ?? {}])
    if (Object.prototype.toString.call(part) !== '[object Object]')
      throw malformed(`expected a plain object, got ${show(part)}`);
  if (!Array.isArray(matchExpressions ?? []))
    throw malformed(`expected an array of matchExpressions, got ${show(matchExpressions)}`);
  const terms = Object.entries(matchLabels ?? {}).map(
    ([key, value]) => `${keyWord(key)}=${word(value)}`,
  );
  for (const { key, operator, values = [] } of matchExpressions ?? []) {
    const list = values.map(word).join(',');
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0)
        throw malformed(`operator ${operator} of ${show(key)} expected values, got none`);
      terms.push(`${keyWord(key)} ${operator.toLowerCase()} (${list})`);
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0)
        throw malformed(`operator ${operator} of ${show(key)} expected no values, got ${list}`);
      terms.push(operator === 'Exists' ? keyWord(key) : `!${keyWord(key)}`);
    } else {
      throw malformed(
        `expected an operator In, NotIn, Exists or DoesNotExist, got ${show(operator)}`,
      );
    }
  }
  return terms.join(',');
}

/**
 * Rejects a key or value that the grammar would split, or that is empty where a word is needed: it
 * would become another selector.
 */
function word(text: unknown): string {
  if (typeof text !== 'string' || /[=!(),<>\s]/.test(text))
    throw malformed(`expected a label key or value, got ${show(text)}`);
  return text;
}

/** Rejects an empty key: it would make an empty term, and an empty selector matches everything. */
function keyWord(key: unknown): string {
  if (key === '') throw malformed('expected a label key, got ""');
  return word(key);
}

/** Go: strconv.ParseInt(text, 10, 64); `undefined` if that fails. */
function int64(text: unknown): bigint | undefined {
  if (typeof text !== 'string' || !/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
