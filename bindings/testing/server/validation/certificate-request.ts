/**
 * Reads PKCS#10 certificate requests, which Node cannot read, and verifies the signature by the
 * contained key. RFC 2986, RFC 7468.
 */
import { constants, createPublicKey, verify } from 'node:crypto';

/** The blocks of a PEM text. */
export function pemBlocks(text: string): { type: string; bytes: Buffer }[] {
  const blocks = text.matchAll(
    /-----BEGIN (?<type>[^-\n]+)-----\s*\n(?<body>[A-Za-z0-9+/=\s]*?)-----END \k<type>-----/g,
  );
  return [...blocks].map(({ groups }) => ({
    type: groups?.type ?? '',
    bytes: Buffer.from(groups?.body ?? '', 'base64'),
  }));
}

/** An element of DER. */
interface Element {
  tag: number;
  /** With its tag and length. */
  whole: Buffer;
  content: Buffer;
}

/** Throws if the bytes are truncated. */
function elements(bytes: Buffer): Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes.readUInt8(at + 1);
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
    const start = at + 2 + lengthBytes;
    const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes);
    if (start + length > bytes.length) throw new RangeError('the value ends too early');
    found.push({
      tag: bytes.readUInt8(at),
      whole: bytes.subarray(at, start + length),
      content: bytes.subarray(start, start + length),
    });
    at = start + length;
  }
  return found;
}

/** The hash of each signature algorithm, by its DER object identifier. */
const HASHES: Readonly<Record<string, string | null>> = {
  '2a864886f70d01010b': 'sha256',
  '2a864886f70d01010c': 'sha384',
  '2a864886f70d01010d': 'sha512',
  '2a8648ce3d040302': 'sha256',
  '2a8648ce3d040303': 'sha384',
  '2a8648ce3d040304': 'sha512',
  '2b6570': null,
};

/** Whether the PEM block is a request with a valid self-signature. */
export function isSignedRequest(pem: Buffer): boolean {
  const [block] = pemBlocks(pem.toString('latin1'));
  if (block?.type !== 'CERTIFICATE REQUEST') return false;
  try {
    const [request] = elements(block.bytes);
    const [info, algorithm, signature] = elements(request?.content ?? Buffer.alloc(0));
    if (info === undefined || algorithm === undefined || signature === undefined) return false;
    // version, subject, public key, attributes
    const key = elements(info.content)[2];
    const oid = elements(algorithm.content)[0]?.content.toString('hex') ?? '';
    if (key === undefined || !Object.hasOwn(HASHES, oid)) return false;
    const publicKey = createPublicKey({ key: key.whole, format: 'der', type: 'spki' });
    const isRsa = publicKey.asymmetricKeyType === 'rsa';
    const how = isRsa ? { key: publicKey, padding: constants.RSA_PKCS1_PADDING } : publicKey;
    // The first byte of a BIT STRING counts the unused bits.
    return verify(HASHES[oid], info.whole, how, signature.content.subarray(1));
  } catch {
    return false;
  }
}
