/**
 * Quantities as the API server writes them: `1` for `1000m`, `1Gi` for `1024Mi`. apimachinery:
 * pkg/api/resource/quantity.go ParseQuantity, CanonicalizeBytes.
 */

const EXPONENT = String.raw`[eE](?<exponent>[+-]?\d{1,3})`;
const SUFFIX = `(?<binary>[KMGTPE]i)|(?<decimal>[numkMGTPE])|${EXPONENT}`;
const QUANTITY = new RegExp(
  String.raw`^(?<sign>[+-]?)(?<whole>\d*)(?:\.(?<part>\d*))?(?:${SUFFIX})?$`,
);

const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
/** The suffixes from 10^-9 on, in steps of 10^3. */
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];

/** The parts of a quantity, and its value in units of 10^-9, the smallest unit. */
function parse(text: string) {
  const found = QUANTITY.exec(text)?.groups;
  if (found === undefined) return undefined;
  const { sign, whole = '', part = '', binary, decimal, exponent } = found;
  if (whole === '' && part === '') return undefined;
  const factor = binary === undefined ? 1n : 1024n ** BigInt(BINARY.indexOf(binary));
  const power = decimal === undefined ? Number(exponent ?? 0) : DECIMAL.indexOf(decimal) * 3 - 9;
  const scale = power - part.length + 9;
  let nanos = BigInt(whole + part) * factor;
  if (scale >= 0) nanos *= 10n ** BigInt(scale);
  else {
    const divisor = 10n ** BigInt(-scale);
    nanos = (nanos + divisor - 1n) / divisor; // rounded away from zero
  }
  return { sign, whole, part, binary, exponent, power, nanos };
}

/** In units of 10^-9; undefined for an invalid quantity. */
export function quantityNanos(text: string): bigint | undefined {
  const found = parse(text);
  return found?.sign === '-' ? -found.nanos : found?.nanos;
}

/** The canonical form; undefined for an invalid quantity. */
export function canonicalQuantity(text: string): string | undefined {
  const found = parse(text);
  if (found === undefined) return undefined;
  const { sign, whole, part, binary, exponent, power, nanos } = found;
  if (nanos === 0n) return '0';
  // Go keeps the text if the number cannot be shortened: `+1`, `01`, `1E3`.
  const isShort = binary === undefined && part === '' && !whole.endsWith('0') && power % 3 === 0;
  if (isShort) return text;
  const minus = sign === '-' ? '-' : '';
  if (binary !== undefined && nanos % NANO === 0n && nanos / NANO >= 1024n) {
    const [number, unit] = inLargestUnit(nanos / NANO, 1024n, BINARY.length - 1);
    return `${minus}${number}${BINARY[unit]}`;
  }
  const [number, unit] = inLargestUnit(nanos, 1000n, DECIMAL.length - 1);
  if (exponent === undefined) return `${minus}${number}${DECIMAL[unit]}`;
  return unit === 3 ? `${minus}${number}` : `${minus}${number}e${unit * 3 - 9}`;
}

const NANO = 10n ** 9n;

/** In the largest unit in which the value is an integer. */
function inLargestUnit(value: bigint, base: bigint, most: number): [bigint, number] {
  let [number, unit] = [value, 0];
  for (; unit < most && number % base === 0n; unit++) number /= base;
  return [number, unit];
}
