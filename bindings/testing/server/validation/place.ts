/**
 * The building blocks of the rules for built-in kinds. A rule is a function of a Place in an
 * object, which has its path, its value, its value before the update, and the list of errors.
 * Places without a value can be walked too, so that rules read like their sources in
 * kubernetes/pkg/apis/&#42;/validation.
 */
import { isObject, type Json, type JsonObject, sameJson } from '../json.ts';
import {
  type FieldError,
  fieldForbidden,
  fieldInvalid,
  fieldNotSupported,
  fieldRequired,
  fieldTooLong,
} from '../status.ts';

/** Reports the errors at a place and below it, in the order of the real server. */
export type Rule = (at: Place) => void;

/** Adds a warning. @param at the place whose path it begins with; undefined: it has no path */
export type Warn = (at: Place | undefined, message: string) => void;

/** The rules of one kind, for writes to the object and to subresources with rules of their own. */
export interface KindRules {
  object?: Rule;
  status?: Rule;
  ephemeralcontainers?: Rule;
  resize?: Rule;
  approval?: Rule;
  finalize?: Rule;
}

/** By `group/plural`; `/pods` in the core group. */
export type RuleTable = Readonly<Record<string, KindRules>>;

export class Place {
  readonly path: string;
  readonly value: Json | undefined;
  /** The value before the update; undefined at a create. */
  readonly was: Json | undefined;
  /** The write is an update: there is an old object. */
  readonly isUpdate: boolean;
  readonly #errors: FieldError[];

  constructor(
    value: Json | undefined,
    was: Json | undefined,
    isUpdate: boolean,
    errors: FieldError[],
    path = '',
  ) {
    this.value = value ?? undefined;
    this.was = was ?? undefined;
    this.isUpdate = isUpdate;
    this.path = path;
    this.#errors = errors;
  }

  /** A member: `spec`, then `spec.type`. */
  at(member: string): Place {
    const path = this.path === '' ? member : `${this.path}.${member}`;
    return this.#child(path, ownAt(this.value, member), ownAt(this.was, member));
  }

  /** A member by its path: `at('spec').at('template')` is `in('spec.template')`. */
  in(members: string): Place {
    return members.split('.').reduce((place: Place, member) => place.at(member), this);
  }

  /** A value of a map, or an item identified by its value: `spec.hard[cpu]`. */
  key(key: string): Place {
    return this.#child(`${this.path}[${key}]`, ownAt(this.value, key), ownAt(this.was, key));
  }

  /** The items of a list; none if the value is not a list. */
  get items(): Place[] {
    const { value, was } = this;
    if (!Array.isArray(value)) return [];
    const before: readonly Json[] = Array.isArray(was) ? was : [];
    return value.map((item: Json, at) => this.#child(`${this.path}[${at}]`, item, before[at]));
  }

  /** The entries of a map, in the order of the keys. */
  get entries(): [key: string, value: Place][] {
    return Object.keys(this.members)
      .sort()
      .map((key) => [key, this.key(key)]);
  }

  /** The same place, with another path in its errors. */
  as(path: string): Place {
    return this.#child(path, this.value, this.was);
  }

  /** The same place as at a create, without a value before. */
  get alone(): Place {
    return new Place(this.value, undefined, false, this.#errors, this.path);
  }

  /** The same place with another value. */
  with(value: Json): Place {
    return this.#child(this.path, value, this.was);
  }

  /** The place as it was before the update. */
  get before(): Place {
    return new Place(this.was, undefined, false, this.#errors, this.path);
  }

  #child(path: string, value: Json | undefined, was: Json | undefined): Place {
    return new Place(value, was, this.isUpdate, this.#errors, path);
  }

  /** The members; none if the value is not an object. */
  get members(): JsonObject {
    return isObject(this.value) ? this.value : {};
  }

  get text(): string {
    return typeof this.value === 'string' ? this.value : '';
  }

  get number(): number {
    const { value } = this;
    return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : 0;
  }

  /** Go has a non-nil pointer to the value. */
  get isSet(): boolean {
    return this.value !== undefined;
  }

  /** The value is Go's zero value: not set, empty, 0, false. */
  get isEmpty(): boolean {
    const { value } = this;
    if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
    return !value;
  }

  /** The update changes the value. */
  get isChanged(): boolean {
    return this.isUpdate && !sameJson(this.value, this.was);
  }

  /** The number of errors of the whole object so far. */
  get errorCount(): number {
    return this.#errors.length;
  }

  report(error: FieldError): void {
    this.#errors.push(error);
  }

  #fail(reason: FieldError['reason'], message: string): void {
    this.report({ field: this.path, reason, message });
  }

  invalid(why: string, value: Json = this.value ?? null): void {
    this.report(fieldInvalid(this.path, value, why));
  }

  required(why = ''): void {
    this.report(fieldRequired(this.path, why));
  }

  forbidden(why: string): void {
    this.report(fieldForbidden(this.path, why));
  }

  notSupported(supported: readonly string[]): void {
    this.report(fieldNotSupported(this.path, this.value ?? '', supported));
  }

  duplicate(): void {
    this.#fail('FieldValueDuplicate', `Duplicate value: ${JSON.stringify(this.value)}`);
  }

  notFound(): void {
    this.#fail('FieldValueNotFound', `Not found: ${JSON.stringify(this.value)}`);
  }

  /** @param most bytes */
  tooLong(most: number): void {
    this.report(fieldTooLong(this.path, most));
  }

  tooMany(count: number, most: number): void {
    this.#fail('FieldValueTooMany', `Too many: ${count}: must have at most ${most} items`);
  }

  typeInvalid(why: string): void {
    this.#fail('FieldValueTypeInvalid', `Invalid value: ${JSON.stringify(this.value)}: ${why}`);
  }

  /** Requires a value that is not empty; returns whether there is one. */
  need(why = ''): boolean {
    if (this.isEmpty) this.required(why);
    return !this.isEmpty;
  }

  /** Requires one of these texts; returns whether it is one. */
  among(values: readonly string[]): boolean {
    const known = values.includes(this.text);
    if (!known) this.notSupported(values);
    return known;
  }

  /** Requires a value, and one of these texts; returns whether it is one. */
  needAmong(values: readonly string[]): boolean {
    return this.need() && this.among(values);
  }

  /** Checks the text (or a given one) by a rule for names, and reports each message. */
  matches(check: (text: string) => readonly string[], text = this.text): void {
    for (const why of check(text)) this.invalid(why, text);
  }

  /** Requires at least `least`, if the number is set. */
  atLeast(least: number): void {
    if (this.isSet && this.number < least) {
      this.invalid(`must be greater than or equal to ${least}`);
    }
  }

  /** Requires a number in a range, if it is set. */
  between(least: number, most: number): void {
    if (this.isSet && (this.number < least || this.number > most))
      this.invalid(`must be between ${least} and ${most}, inclusive`);
  }

  /** Reports an update that changes the value. */
  immutable(why = 'field is immutable'): void {
    if (this.isChanged) this.invalid(why);
  }

  /** Reports items that occur before, by their value or by `keyOf`. */
  distinct(keyOf: (item: Place) => string = ({ value }) => JSON.stringify(value)): void {
    const seen = new Set<string>();
    for (const item of this.items) {
      const key = keyOf(item);
      if (seen.has(key)) item.duplicate();
      seen.add(key);
    }
  }
}

/**
 * A member of a union: its rule, the name in its errors, and the name in the error of a second one.
 */
export type Choice = readonly [member: string, rule?: Rule, told?: string, second?: string];

/**
 * At most one of the members may be set: later ones are forbidden and not checked. Returns how many
 * were checked: 0 or 1.
 */
export function oneOf(at: Place, choices: readonly Choice[], why: string): number {
  let found = 0;
  for (const [member, rule, told = member, second = member] of choices) {
    const chosen = at.at(member);
    if (!chosen.isSet) continue;
    if (found > 0) chosen.as(at.at(second).path).forbidden(why);
    else {
      found++;
      rule?.(chosen.as(at.at(told).path));
    }
  }
  return found;
}

function ownAt(value: Json | undefined, member: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, member) ? value[member] : undefined;
}
