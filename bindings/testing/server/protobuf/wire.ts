/** The encoding of protobuf: messages are numbered fields without type information. */

/** A varint, or the bytes of a fixed-width or length-delimited field. */
export type WireValue = bigint | Buffer;

const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;

/** The fields of a message, in their order. Throws for a truncated message. */
export function* fieldsIn(message: Buffer): Generator<[number: number, value: WireValue]> {
  let at = 0;

  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 64n; shift += 7n) {
      if (at >= message.length) throw new Error('unexpected EOF');
      const byte = message[at++] as number;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new Error('proto: integer overflow');
  };

  const bytes = (length: number): Buffer => {
    if (length > message.length - at) throw new Error('unexpected EOF');
    at += length;
    return message.subarray(at - length, at);
  };

  while (at < message.length) {
    const tag = Number(varint());
    const number = Math.floor(tag / 8);
    if (number === 0) throw new Error(`proto: illegal tag ${number} (wire type ${tag % 8})`);
    switch (tag % 8) {
      case VARINT:
        yield [number, varint()];
        break;
      case FIXED_64:
        yield [number, bytes(8)];
        break;
      case BYTES:
        yield [number, bytes(Number(varint()))];
        break;
      case FIXED_32:
        yield [number, bytes(4)];
        break;
      default:
        throw new Error(`proto: illegal wireType ${tag % 8}`);
    }
  }
}
