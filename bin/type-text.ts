/**
 * TypeScript types of a structural schema: an interface for each object in it, named after its
 * path. The text depends on the schema alone, not on the order of its members.
 */
import type { StructuralSchema } from 'capstan/client';

/** The longest line, unless a single word is longer. */
export const WIDTH = 100;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** The type names that a file uses already. */
export class TypeNames {
  readonly #used: Set<string>;

  constructor(reserved: readonly string[]) {
    this.#used = new Set(reserved);
  }

  /** The name itself, or with the first number from 2 on that makes it a new one. */
  take(wanted: string): string {
    let name = wanted;
    for (let count = 2; this.#used.has(name); count++) name = `${wanted}${count}`;
    this.#used.add(name);
    return name;
  }
}

/** A root object of a custom resource, to be written. */
export interface RootType {
  readonly name: string;
  readonly schema: StructuralSchema;
  /** Lines of its docstring in front of the description. */
  readonly about: readonly string[];
  readonly deprecated?: string | undefined;
}

/** The interface of a root object, and after it those of the objects in it. */
export function interfacesOf(
  { name, schema, about, deprecated }: RootType,
  names: TypeNames,
): string {
  const writer = new Writer(names);
  const notes = [
    ...about,
    ...paragraphs(schema.description),
    ...(deprecated === undefined ? [] : [`@deprecated ${deprecated}`]),
  ];
  writer.root(name, schema, notes);
  return writer.text.join('\n');
}

class Writer {
  readonly text: string[] = [];
  readonly #names: TypeNames;

  constructor(names: TypeNames) {
    this.#names = names;
  }

  root(name: string, schema: StructuralSchema, notes: readonly string[]): void {
    const { apiVersion: _, kind: __, metadata: ___, ...others } = schema.properties ?? {};
    const at = this.text.push('') - 1;
    const members = [
      '  apiVersion?: string | undefined;',
      '  kind?: string | undefined;',
      '  metadata: ObjectMeta;',
      ...this.#members(name, { ...schema, properties: others }, rootOrder(others)),
    ];
    this.text[at] = interfaceText(name, notes, members);
  }

  /** Writes an interface, and returns its name. */
  #object(wanted: string, schema: StructuralSchema): string {
    const name = this.#names.take(wanted);
    const at = this.text.push('') - 1;
    const { properties = {} } = schema;
    const names = Object.keys(properties).sort();
    const members = this.#members(name, schema, names);
    if (schema['x-kubernetes-embedded-resource'] === true) {
      const own = {
        apiVersion: '  apiVersion: string;',
        kind: '  kind: string;',
        metadata: '  metadata?: ObjectMeta | undefined;',
      };
      members.unshift(
        ...Object.entries(own).flatMap(([key, line]) => (key in properties ? [] : [line])),
      );
    }
    this.text[at] = interfaceText(name, paragraphs(schema.description), members);
    return name;
  }

  #members(owner: string, schema: StructuralSchema, names: readonly string[]): string[] {
    const { properties = {}, required = [] } = schema;
    const members = names.map((name) => {
      const member = properties[name] as StructuralSchema;
      const isRequired = required.includes(name);
      const key = IDENTIFIER.test(name) ? name : literal(name);
      const type = this.#type(`${owner}${pascal(name)}`, member);
      const alternatives = isRequired ? type : optional(type);
      const notes = docOf([...paragraphs(member.description), ...factsOf(member)], '  ');
      return `${notes}  ${key}${isRequired ? '' : '?'}:${unionText(alternatives, '  ')};`;
    });
    if (schema['x-kubernetes-preserve-unknown-fields'] === true)
      members.push('  [name: string]: unknown;');
    return members;
  }

  /** The alternatives of a type. `wanted` is the name of an object. */
  #type(wanted: string, schema: StructuralSchema): string[] {
    const types = this.#bare(wanted, schema);
    const isNullable = schema.nullable === true && !types.includes('unknown');
    return isNullable && !types.includes('null') ? [...types, 'null'] : types;
  }

  /** The type of the elements of a list or map; a long union gets a name. */
  #element(wanted: string, schema: StructuralSchema): string[] {
    const types = this.#type(wanted, schema);
    const width = types.join(' | ').length;
    if (types.length < 3 || width < WIDTH / 2) return types;
    const name = this.#names.take(wanted);
    this.text.push(`export type ${name} =${unionText(types, '')};\n`);
    return [name];
  }

  #bare(wanted: string, schema: StructuralSchema): string[] {
    const { type, items, properties, additionalProperties: more } = schema;
    if (schema['x-kubernetes-int-or-string'] === true) return ['number', 'string'];
    const values = literalsOf(schema);
    if (values !== undefined) return values;
    switch (type) {
      case 'string':
      case 'boolean':
        return [type];
      case 'integer':
      case 'number':
        return ['number'];
      case 'array': {
        const item = this.#element(`${wanted}Item`, items ?? {});
        return [item.length === 1 ? `${item[0]}[]` : `(${item.join(' | ')})[]`];
      }
      default:
        break;
    }
    const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
    const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
    if (isEmbedded || Object.keys(properties ?? {}).length > 0)
      return [this.#object(wanted, schema)];
    if (typeof more === 'object') {
      const value = this.#element(`${wanted}Value`, more);
      return [`{ [name: string]: ${value.join(' | ')} }`];
    }
    if (type !== 'object') return ['unknown'];
    // With neither, the server prunes every member.
    return [`{ [name: string]: ${isOpen || more === true ? 'unknown' : 'never'} }`];
  }
}

/** Spec and status are what a reader looks for first. */
function rootOrder(properties: Record<string, StructuralSchema>): string[] {
  const first = ['spec', 'status'].filter((name) => Object.hasOwn(properties, name));
  const rest = Object.keys(properties).filter((name) => !first.includes(name));
  return [...first, ...rest.sort()];
}

/** The values of an enum as literal types; undefined for one that has objects or arrays. */
function literalsOf({ enum: values }: StructuralSchema): string[] | undefined {
  if (!Array.isArray(values) || values.length === 0) return undefined;
  if (values.some((value) => typeof value === 'object' && value !== null)) return undefined;
  return [...new Set(values.map(literal))];
}

/** A value of JSON as a literal type. */
export function literal(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  const inner = JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `'${inner.replace(/[\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`)}'`;
}

const optional = (type: readonly string[]): string[] =>
  type.includes('unknown') ? [...type] : [...type, 'undefined'];

/** A union behind a colon: on one line, or with a line for each alternative. */
function unionText(types: readonly string[], indent: string): string {
  const line = types.join(' | ');
  if (types.length < 3 || line.length < WIDTH / 2) return ` ${line}`;
  return types.map((type) => `\n${indent}  | ${type}`).join('');
}

function interfaceText(name: string, notes: readonly string[], members: readonly string[]): string {
  const body = members.length === 0 ? '{}' : `{\n${members.join('\n')}\n}`;
  return `${docOf(notes, '')}export interface ${name} ${body}\n`;
}

/** What a reader of the types needs beside them. */
function factsOf(schema: StructuralSchema): string[] {
  const facts: string[] = [];
  if (schema.default !== undefined) {
    const text = JSON.stringify(schema.default, inOrder);
    if (text.length < WIDTH) facts.push(`Default: \`${text}\`.`);
  }
  const keys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-list-type'] === 'set') facts.push('A set: no value comes twice.');
  if (schema['x-kubernetes-list-type'] === 'map' && keys !== undefined)
    facts.push(`A map: no two items have the same ${keys.map((key) => `\`${key}\``).join(', ')}.`);
  return facts;
}

/** For JSON.stringify: members in the order of their names. */
const inOrder = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/** The paragraphs of a description. Lines are joined, but those of lists and code. */
function paragraphs(description: string | undefined): string[] {
  if (typeof description !== 'string') return [];
  const lines: string[] = [];
  for (const given of description.split(/\r\n|[\n\r\u2028\u2029]/)) {
    const line = given.trimEnd();
    const last = lines.at(-1);
    const isText = /^[^\s\-*#|`@]/.test(line) && last !== undefined && /^[^\s\-*#|`]/.test(last);
    if (isText) lines[lines.length - 1] = `${last} ${line}`;
    else if (line !== '' || (last !== undefined && last !== '')) lines.push(line);
  }
  while (lines.at(-1) === '') lines.pop();
  return lines;
}

/** A docstring, or nothing. No text can end it, or begin a tag. */
export function docOf(notes: readonly string[], indent: string): string {
  if (notes.length === 0) return '';
  const lines = notes.flatMap((note) => wrap(safe(note), WIDTH - indent.length - 3));
  const [only = ''] = lines;
  if (lines.length === 1 && indent.length + only.length + 7 <= WIDTH)
    return `${indent}/** ${only} */\n`;
  const body = lines.map((line) => `${indent} *${line === '' ? '' : ` ${line}`}\n`).join('');
  return `${indent}/**\n${body}${indent} */\n`;
}

function safe(note: string): string {
  const text = note.replaceAll('*/', '*\\/').replaceAll('\t', '  ');
  return text.startsWith('@deprecated ') ? text : text.replace(/(^|\s)@(?=\w)/g, '$1\\@');
}

function wrap(text: string, width: number): string[] {
  const indent = /^\s*/.exec(text)?.[0] ?? '';
  const lines: string[] = [];
  let line = indent;
  for (const word of text.trim().split(/ +/)) {
    const isFirst = line.trim() === '';
    if (!isFirst && line.length + 1 + word.length > width) {
      lines.push(line);
      line = `${indent}${word}`;
    } else line = isFirst ? `${indent}${word}` : `${line} ${word}`;
  }
  return [...lines, line.trimEnd()];
}

/** `private-key` and `privateKey` as `PrivateKey`; what has no letter or digit as `Member`. */
export function pascal(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  return joined === '' ? 'Member' : joined;
}
