/**
 * Quantities: numbers with a suffix, such as `500m` and `1Gi`, exact to 10^-9. apimachinery:
 * pkg/api/resource/quantity.go.
 */
import { CapstanError, invalid, requireInteger } from '../base/errors.ts';

/**
 * The format of a quantity: `DecimalSI` has the suffixes m, k, M, …; `BinarySI` has Ki, Mi, …;
 * `DecimalExponent` is written as 1e3. apimachinery: resource.Format.
 */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/** A quantity as an object has it: a string or a number. */
export type QuantityLike = Quantity | string | number;

/** 10^-9 is the smallest part of a quantity. */
const PLACES = 9;
const NANO = 10n ** 9n;
/** In 10^-9. Go limits only quantities in BinarySI when it parses them. */
const MOST = (2n ** 63n - 1n) * NANO;

const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
/** The suffixes from 10^-9 on, in steps of 10^3. */
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];

const EXPONENT = String.raw`[eE](?<exponent>[+-]?\d{1,3})`;
const SUFFIX = `(?<binary>[KMGTPE]i)|(?<decimal>[numkMGTPE])|${EXPONENT}`;
/** As in Go, the number may be missing, and is then 0. */
const QUANTITY = new RegExp(
  String.raw`^(?<sign>[+-]?)(?<zeros>0*)(?<whole>\d*)(?:\.(?<part>\d*))?(?:${SUFFIX})?$`,
);

/**
 * An exact number with a format. It is immutable: the methods return new quantities.
 * `String(quantity)` and `JSON.stringify` give the canonical form. apimachinery: resource.Quantity.
 *
 * @example
 * const limit = parseQuantity('1500m').add('0.5');
 * console.log(String(limit), limit.milliValue()); // 2 2000n
 */
export class Quantity {
  /** In 10^-9. */
  readonly #nanos: bigint;
  readonly format: QuantityFormat;
  readonly #text: string;

  /** @internal Use {@link parseQuantity} or {@link newQuantity}. */
  constructor(nanos: bigint, format: QuantityFormat, text: string = canonicalText(nanos, format)) {
    this.#nanos = nanos;
    this.format = format;
    this.#text = text;
  }

  /** Compares the numbers: -1, 0 or 1. Quantity.Cmp. */
  cmp(other: QuantityLike): -1 | 0 | 1 {
    const right = parseQuantity(other).#nanos;
    return this.#nanos < right ? -1 : this.#nanos > right ? 1 : 0;
  }

  /** Whether the numbers are equal. The format does not count: `1000m` equals `1`. */
  equal(other: QuantityLike): boolean {
    return this.cmp(other) === 0;
  }

  /** The sign: -1, 0 or 1. */
  sign(): -1 | 0 | 1 {
    return this.#nanos < 0n ? -1 : this.#nanos > 0n ? 1 : 0;
  }

  isZero(): boolean {
    return this.#nanos === 0n;
  }

  /** The sum, in the format of this quantity, or in that of the other if this is 0. */
  add(other: QuantityLike): Quantity {
    const right = parseQuantity(other);
    return new Quantity(this.#nanos + right.#nanos, this.#formatWith(right));
  }

  /** The difference, in the format of this quantity, or in that of the other if this is 0. */
  sub(other: QuantityLike): Quantity {
    const right = parseQuantity(other);
    return new Quantity(this.#nanos - right.#nanos, this.#formatWith(right));
  }

  /** @param factor an integer */
  mul(factor: number | bigint): Quantity {
    return new Quantity(this.#nanos * integer('factor', factor), this.format);
  }

  neg(): Quantity {
    return new Quantity(-this.#nanos, this.format);
  }

  /**
   * Rounded away from 0 to a multiple of 10^scale, such as 0 for whole numbers and -3 for
   * thousandths. Quantity.RoundUp.
   *
   * @param scale from -9 to 18
   */
  roundUp(scale: number): Quantity {
    const unit = unitOf(scale);
    const rounded = awayFromZero(this.#nanos, unit) * unit;
    return rounded === this.#nanos ? this : new Quantity(rounded, this.format);
  }

  /**
   * The integer, rounded away from 0, such as the bytes of memory. It does not overflow, as Go's
   * int64 does.
   */
  value(): bigint {
    return this.scaledValue(0);
  }

  /** The thousandths, rounded away from 0, such as the millicores of CPU. */
  milliValue(): bigint {
    return this.scaledValue(-3);
  }

  /**
   * The number of units of 10^scale, rounded away from 0.
   *
   * @param scale from -9 to 18
   */
  scaledValue(scale: number): bigint {
    return awayFromZero(this.#nanos, unitOf(scale));
  }

  /** The nearest JavaScript number. Quantity.AsFloat64Slow. */
  toNumber(): number {
    return Number(`${this.#nanos}e-${PLACES}`);
  }

  /** The canonical form, as the API server writes it. Quantity.String. */
  toString(): string {
    return this.#text;
  }

  toJSON(): string {
    return this.#text;
  }

  #formatWith(other: Quantity): QuantityFormat {
    return this.#nanos === 0n ? other.format : this.format;
  }
}

/**
 * Parses a quantity of an object. Digits beyond 10^-9 are rounded away from 0.
 * apimachinery: resource.ParseQuantity.
 *
 * @throws CapstanError INVALID_ARGUMENT for any other value, and for exponents of more than three
 *   digits
 * @example
 * const request = parseQuantity('250m');
 * console.log(request.mul(3).toString()); // 750m
 */
export function parseQuantity(quantity: QuantityLike): Quantity {
  if (quantity instanceof Quantity) return quantity;
  const found = quantityOf(quantity);
  if (found === undefined)
    throw invalid('quantity', 'a quantity such as "500m", "1Gi" or "1e3"', quantity);
  return found;
}

/**
 * Compares two quantities: -1, 0 or 1, as `sort` needs it. apimachinery: Quantity.Cmp.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * console.log(compareQuantity('1Gi', '1000M')); // 1
 */
export function compareQuantity(a: QuantityLike, b: QuantityLike): -1 | 0 | 1 {
  return parseQuantity(a).cmp(b);
}

/**
 * Makes a quantity from an integer. apimachinery: resource.NewQuantity.
 *
 * @param format default `DecimalSI`
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * console.log(String(newQuantity(1024 ** 3, 'BinarySI'))); // 1Gi
 */
export function newQuantity(
  value: number | bigint,
  format: QuantityFormat = 'DecimalSI',
): Quantity {
  requireFormat(format);
  return new Quantity(integer('value', value) * NANO, format);
}

/**
 * Makes a quantity from an integer of thousandths. apimachinery: resource.NewMilliQuantity.
 *
 * @param format default `DecimalSI`
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * console.log(String(newMilliQuantity(1500))); // 1500m
 */
export function newMilliQuantity(
  value: number | bigint,
  format: QuantityFormat = 'DecimalSI',
): Quantity {
  requireFormat(format);
  return new Quantity(integer('value', value) * 10n ** 6n, format);
}

/** @internal Returns `undefined` for a value that is not a quantity. */
export function quantityOf(value: unknown): Quantity | undefined {
  if (value instanceof Quantity) return value;
  // A Quantity of another copy of this package is parsed from its string.
  const text = typeof value === 'number' || isForeign(value) ? String(value) : value;
  const found = typeof text === 'string' && text !== '' ? QUANTITY.exec(text)?.groups : undefined;
  if (found === undefined) return undefined;
  const { sign, zeros = '', whole = '', part = '', binary, decimal, exponent } = found;
  const power = decimal === undefined ? Number(exponent ?? 0) : DECIMAL.indexOf(decimal) * 3 - 9;
  const digits = (whole === '' ? '0' : whole) + part;
  const scale = power - part.length;
  // Go parses a suffix without a number as 0, except on its path for large numbers.
  const isLong = scale < -PLACES || binary === 'Pi' || binary === 'Ei';
  if (zeros + whole + part === '' && isLong) return undefined;
  const kept = isCanonical({ digits, part, scale, binary }) ? (text as string) : undefined;
  const factor = binary === undefined ? 1n : 1024n ** BigInt(BINARY.indexOf(binary));
  let nanos = BigInt(digits) * factor;
  if (scale >= -PLACES) nanos *= 10n ** BigInt(scale + PLACES);
  else nanos = awayFromZero(nanos, 10n ** BigInt(-scale - PLACES));
  let format: QuantityFormat = exponent === undefined ? 'DecimalSI' : 'DecimalExponent';
  if (binary !== undefined) {
    if (nanos > MOST) nanos = MOST;
    // BinarySI cannot express a number below 1.
    format = nanos > 0n && nanos < NANO ? 'DecimalSI' : 'BinarySI';
  }
  return new Quantity(sign === '-' ? -nanos : nanos, format, kept);
}

/**
 * Whether Go keeps the string as it is. It does so for some strings that are not canonical, such as
 * `+1` and `1.500`, if the number fits into 64 bits.
 */
function isCanonical({
  digits,
  part,
  scale,
  binary,
}: {
  digits: string;
  part: string;
  scale: number;
  binary: string | undefined;
}): boolean {
  if (binary === undefined) {
    const fits = digits.length <= 18 && scale >= -PLACES;
    return fits && scale % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0');
  }
  const power = BINARY.indexOf(binary) * 10;
  const fits = part === '' && digits.length <= 14 - Math.trunc((power * 3) / 10);
  return fits && BigInt(digits) % 8n !== 0n;
}

function isForeign(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    value.constructor?.name === 'Quantity' &&
    typeof (value as Partial<Quantity>).scaledValue === 'function'
  );
}

function canonicalText(nanos: bigint, format: QuantityFormat): string {
  if (nanos === 0n) return '0';
  const minus = nanos < 0n ? '-' : '';
  const size = nanos < 0n ? -nanos : nanos;
  if (format === 'BinarySI' && size % NANO === 0n && size / NANO >= 1024n) {
    const [number, unit] = inLargestUnit(size / NANO, 1024n, BINARY.length - 1);
    return `${minus}${number}${BINARY[unit]}`;
  }
  const isExponent = format === 'DecimalExponent';
  const most = isExponent ? Number.POSITIVE_INFINITY : DECIMAL.length - 1;
  const [number, unit] = inLargestUnit(size, 1000n, most);
  const power = unit * 3 - PLACES;
  const suffix = !isExponent ? DECIMAL[unit] : power === 0 ? '' : `e${power}`;
  return `${minus}${number}${suffix}`;
}

/** In the largest unit in which the value is an integer. */
function inLargestUnit(value: bigint, base: bigint, most: number): [bigint, number] {
  let [number, unit] = [value, 0];
  for (; unit < most && number % base === 0n; unit++) number /= base;
  return [number, unit];
}

function awayFromZero(value: bigint, unit: bigint): bigint {
  return (value < 0n ? value - unit + 1n : value + unit - 1n) / unit;
}

function unitOf(scale: number): bigint {
  requireInteger('scale', scale, -PLACES);
  if (scale > 18) throw invalid('scale', 'an integer from -9 to 18', scale);
  return 10n ** BigInt(scale + PLACES);
}

function integer(name: string, value: number | bigint): bigint {
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value))
    throw invalid(name, 'an integer, beyond 2^53 as a BigInt', value);
  return BigInt(value);
}

function requireFormat(format: QuantityFormat): void {
  if (!['DecimalSI', 'BinarySI', 'DecimalExponent'].includes(format))
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"format" expected "DecimalSI", "BinarySI" or "DecimalExponent", got ${String(format)}`,
    );
}
