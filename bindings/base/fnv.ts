/**
 * FNV-1a, 64 bits, of the UTF-8 bytes of a text: the hash by which kube-apiserver divides objects
 * (KEP-5866), and by which shards do. The same as assembly/ranges.ts. apimachinery: pkg/sharding
 * HashField.
 */

const encoder = new TextEncoder();
const WORD = 2 ** 32;
/** The prime is 2^40 + 0x1b3. */
const PRIME_LOW = 0x1b3;
const PRIME_HIGH = 0x100;

/** The hash as an unsigned number of 64 bits. */
export function fnv1a64(text: string): bigint {
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  const bytes = isAscii(text) ? undefined : encoder.encode(text);
  const length = bytes?.length ?? text.length;
  for (let i = 0; i < length; i++) {
    low = (low ^ (bytes === undefined ? text.charCodeAt(i) : (bytes[i] as number))) >>> 0;
    const product = low * PRIME_LOW;
    high = (high * PRIME_LOW + low * PRIME_HIGH + Math.floor(product / WORD)) % WORD;
    low = product % WORD;
  }
  return (BigInt(high) << 32n) | BigInt(low);
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}
