/**
 * Warnings about addresses and ranges that are accepted only for compatibility with old objects.
 * apimachinery: pkg/util/validation/ip.go GetWarningsForIP, GetWarningsForCIDR.
 */
import { isIP, isIPv4 } from 'node:net';
import { addressBits, canonicalAddress } from '../validation/formats.ts';
import type { Place, Warn } from '../validation/place.ts';

const ZEROS = /(^|\.)0+(?=\d)/g;
/** The address without leading zeros, which Go once accepted; undefined: it is invalid. */
function readSloppily(text: string): string | undefined {
  const plain = text.includes(':') ? text : text.replaceAll(ZEROS, '$1');
  return isIP(plain) > 0 && !plain.includes('%') ? plain : undefined;
}

/** The address as Go prints it: IPv4 in IPv6 becomes IPv4. */
function printed(ip: string): string {
  const canonical = canonicalAddress(ip);
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(canonical);
  if (mapped === null) return canonical;
  const [high, low] = [mapped[1], mapped[2]].map((part) => Number.parseInt(part ?? '', 16));
  return [(high ?? 0) >> 8, (high ?? 0) & 255, (low ?? 0) >> 8, (low ?? 0) & 255].join('.');
}

const isMapped = (ip: string): boolean => !isIPv4(ip) && isIPv4(printed(ip));

export function addressWarning(at: Place, warn: Warn): void {
  const ip = readSloppily(at.text);
  if (ip === undefined) return;
  const shown = JSON.stringify(at.text);
  if (ip !== at.text || isMapped(ip))
    warn(at, `non-standard IP address ${shown} is invalid: use "${printed(ip)}"`);
  else if (canonicalAddress(ip) !== ip)
    warn(at, `IPv6 address ${shown} should be in RFC 5952 canonical format ("${printed(ip)}")`);
}

export function rangeWarnings(at: Place, warn: Warn): void {
  const slash = at.text.indexOf('/');
  const ip = slash < 0 ? undefined : readSloppily(at.text.slice(0, slash));
  const given = at.text.slice(slash + 1);
  if (ip === undefined || !/^\d{1,3}$/.test(given)) return;
  const mapped = isMapped(ip);
  const address = printed(ip);
  const bits = isIPv4(address) ? 32 : 128;
  const length = Number(given) - (mapped ? 96 : 0);
  if (length > bits || length < 0) return;
  const behind = (1n << BigInt(bits - length)) - 1n;
  const first = addressBits(address) & ~behind;
  const range = `${text(first, bits)}/${length}`;
  const shown = JSON.stringify(at.text);
  const isAmbiguous = first !== addressBits(address);
  if (isAmbiguous) {
    const single = `${address}/${bits}`;
    const why =
      `CIDR value ${shown} is ambiguous in this context (should be "${range}" or ` +
      `"${single}"?)`;
    warn(at, why);
  }
  if (ip !== at.text.slice(0, slash) || mapped || /^0\d/.test(given))
    warn(at, `non-standard CIDR value ${shown} is invalid: use "${range}"`);
  else if (!isAmbiguous && bits === 128 && `${address}/${length}` !== at.text)
    warn(
      at,
      `IPv6 CIDR value ${shown} should be in RFC 5952 canonical format ("${address}/${length}")`,
    );
}

function text(bits: bigint, length: number): string {
  if (length === 32)
    return [24n, 16n, 8n, 0n].map((shift) => String((bits >> shift) & 255n)).join('.');
  const groups = Array.from({ length: 8 }, (_, at) =>
    ((bits >> BigInt(112 - 16 * at)) & 0xffffn).toString(16),
  );
  return canonicalAddress(groups.join(':'));
}
