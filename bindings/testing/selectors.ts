/**
 * Label and field selectors, parsed by the grammar of apimachinery (pkg/labels/selector.go, pkg/fields/selector.go) with
 * its messages, and compiled to one function per selector: a watch calls it twice for every event.
 */
import { isObject, type Json, type JsonObject, objectAt } from './json.ts';
import type { Kind } from './registry/kinds.ts';
import { labelValue, qualifiedName } from './registry/names.ts';
import { metadataOf } from './registry/store.ts';
import { badRequest } from './status.ts';

export type Predicate = (object: JsonObject) => boolean;

/** Both selectors of a request; undefined when everything matches. */
export function parseSelectors(kind: Kind, labels: string | null, fields: string | null): Predicate | undefined {
  const byLabel = parseLabelSelector(labels ?? '');
  const byField = parseFieldSelector(kind, fields ?? '');
  if (byLabel === undefined) return byField;
  if (byField === undefined) return byLabel;
  return (object) => byLabel(object) && byField(object);
}

type Labels = JsonObject;
type Requirement = (labels: Labels) => boolean;

/** `a in (x,y),!b,c!=d`: every requirement has to hold. */
export function parseLabelSelector(selector: string): Predicate | undefined {
  const requirements = new LabelParser(selector).parse();
  if (requirements.length === 0) return undefined;
  return (object) => {
    const labels = objectAt(metadataOf(object), 'labels');
    return requirements.every((requirement) => requirement(labels));
  };
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
        throw badRequest(`found '${next.text}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(this.#requirement());
      const after = this.#take();
      if (after.kind === 'end') return requirements;
      if (after.kind !== ',') throw badRequest(`found '${after.text}', expected: ',' or 'end of string'`);
      const following = this.#peek();
      if (following.kind !== 'identifier' && following.kind !== '!') {
        throw badRequest(`found '${following.text}', expected: identifier after ','`);
      }
    }
  }

  /** `in` and `notin` are words like any other, except where an operator is expected. */
  #peek(): Token {
    const token = this.#tokens[this.#at] ?? { kind: 'end', text: '' };
    return token.kind === 'in' || token.kind === 'notin' ? { kind: 'identifier', text: token.text } : token;
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
    if (wrong.length > 0) throw this.#fail(`<nil>: Invalid value: ${JSON.stringify(key)}: ${wrong.join('; ')}`);
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
        if (!/^[+-]?\d+$/.test(text)) {
          const why = "for 'Gt', 'Lt' operators, the value must be an integer";
          throw this.#fail(`values[0]: Invalid value: ${JSON.stringify(text)}: ${why}`);
        }
        const limit = BigInt(text);
        return (labels) => {
          const value = labels[key];
          if (typeof value !== 'string' || !/^[+-]?\d+$/.test(value)) return false;
          return operator.kind === '>' ? BigInt(value) > limit : BigInt(value) < limit;
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
    if (token.kind !== 'identifier') throw this.#fail(`found '${token.text}', expected: identifier`);
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
          value !== undefined ? "',' or ')'" : values.size > 0 ? "',', or identifier" : "',', ')' or identifier";
        throw this.#fail(`found '${token.text}', expected: ${expected}`);
      }
    }
  }

  #validated(key: string, values: string[]): string[] {
    for (const [at, value] of values.entries()) {
      const wrong = labelValue(value);
      if (wrong.length > 0) {
        throw this.#fail(`values[${at}][${key}]: Invalid value: ${JSON.stringify(value)}: ${wrong.join('; ')}`);
      }
    }
    return values;
  }

  #fail(why: string): Error {
    return badRequest(`unable to parse requirement: ${why}`);
  }
}

function has(key: string, values: readonly string[]): Requirement {
  return (labels) => {
    const value = labels[key];
    return typeof value === 'string' && Object.hasOwn(labels, key) && values.includes(value);
  };
}

/** The fields beyond name and namespace that built-in kinds can be selected by: pkg/registry/<group>/<kind>/strategy.go. */
const FIELDS: Record<string, readonly string[]> = {
  '/pods': [
    ...['spec.nodeName', 'spec.restartPolicy', 'spec.schedulerName', 'spec.serviceAccountName', 'spec.hostNetwork'],
    ...['status.phase', 'status.podIP', 'status.nominatedNodeName'],
  ],
  '/secrets': ['type'],
  '/namespaces': ['status.phase'],
  '/nodes': ['spec.unschedulable'],
  '/services': ['spec.clusterIP', 'spec.type'],
  '/events': [
    ...['involvedObject.kind', 'involvedObject.namespace', 'involvedObject.name', 'involvedObject.uid'],
    ...['involvedObject.apiVersion', 'involvedObject.resourceVersion', 'involvedObject.fieldPath'],
    ...['reason', 'reportingComponent', 'source', 'type'],
  ],
};

/** Fields whose absence means false rather than an empty string. */
const BOOLEANS: readonly string[] = ['spec.hostNetwork', 'spec.unschedulable'];

/** `metadata.name=a,status.phase!=Running`; a field the resource does not offer is a 400. */
export function parseFieldSelector(kind: Kind, selector: string): Predicate | undefined {
  const own = kind.builtIn ? FIELDS[`${kind.group}/${kind.plural}`] : undefined;
  const predicates = splitTerms(selector)
    .filter((term) => term !== '')
    .sort()
    .map((term) => {
      const match = /^(.*?)(!=|==|=)(.*)$/s.exec(term);
      if (match === null) throw badRequest(`invalid selector: '${selector}'; can't understand '${term}'`);
      const [, field = '', operator, escaped = ''] = match;
      const value = unescaped(escaped);
      if (field !== 'metadata.name' && field !== 'metadata.namespace' && !own?.includes(field))
        throw unknownField(kind, own, field);
      const path = field.split('.');
      const absent = BOOLEANS.includes(field) ? 'false' : '';
      return (object: JsonObject): boolean => (fieldText(object, path, absent) === value) === (operator !== '!=');
    });
  if (predicates.length === 0) return undefined;
  return (object) => predicates.every((predicate) => predicate(object));
}

/** The one name that a field selector asks for; undefined when it does not ask for one. */
export function exactName(selector: string | null): string | undefined {
  for (const term of splitTerms(selector ?? '')) {
    const match = /^metadata\.name==?([^=].*)$/s.exec(term);
    if (match !== null) return unescaped(match[1] ?? '');
  }
  return undefined;
}

function unknownField(kind: Kind, own: readonly string[] | undefined, field: string): Error {
  if (own === undefined && kind.builtIn) {
    return badRequest(`"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`);
  }
  return badRequest(`field label not supported: ${field}`);
}

function fieldText(object: JsonObject, path: readonly string[], absent: string): string {
  let value: Json | undefined = object;
  for (const member of path) value = isObject(value) ? value[member] : undefined;
  return value === undefined || value === null ? absent : String(value);
}

/** Commas separate terms unless a backslash escapes them. */
function splitTerms(selector: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < selector.length; at++) {
    if (selector.charAt(at) === '\\') at++;
    else if (selector.charAt(at) === ',') {
      terms.push(selector.slice(start, at));
      start = at + 1;
    }
  }
  terms.push(selector.slice(start));
  return terms;
}

/** `\\`, `\,` and `\=` stand for the character; any other escape, and a bare `=`, is an error. */
function unescaped(text: string): string {
  let value = '';
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '\\') {
      const next = text.charAt(++at);
      if (next === '' || !'\\,='.includes(next))
        throw badRequest(`invalid field selector: invalid escape sequence: ${character}${next}`);
      value += next;
    } else if (character === '=' || character === ',') {
      throw badRequest(`invalid field selector: unescaped character in value: ${character}`);
    } else {
      value += character;
    }
  }
  return value;
}
