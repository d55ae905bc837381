/**
 * The fuzz of decoders: damaged watch streams and lists in random pieces. For each input: only
 * DECODE errors are thrown, each frame before the first bad byte is decoded as by JSON.parse, and a
 * bad one is an error, never skipped. Objects are compared after the stream has ended, so that they
 * must not have changed.
 */

import { CapstanError } from '../../../bindings/base/errors.ts';
import type { Decoder, Frame } from '../../../bindings/cache/decode/decoder.ts';
import { Random } from '../../helpers/random.ts';
import { Documents } from './documents.ts';
import {
  expectedPage,
  expectedStream,
  mayRefuse,
  misleadsEngines,
  objectText,
  type Shown,
  showBookmark,
  showEvent,
  showPage,
} from './oracle.ts';

export interface Subject {
  name: string;
  /** Created again from time to time, because decoded objects are never stored. */
  decoder(): Decoder<object>;
  /** Leaves metadata.managedFields out. */
  cut: boolean;
}

export interface FuzzReport {
  inputs: number;
  frames: number;
  pages: number;
  errors: number;
}

const PER_DECODER = 500;

/** Throws at the first input that a decoder gets wrong, with the seed and the input. */
export function fuzz(subject: Subject, options: { seed: number; inputs: number }): FuzzReport {
  const report: FuzzReport = { inputs: 0, frames: 0, pages: 0, errors: 0 };
  let decoder = subject.decoder();
  const seeds = new Random(options.seed);
  for (; report.inputs < options.inputs; report.inputs++) {
    if (report.inputs % PER_DECODER === 0) decoder = subject.decoder();
    const seed = seeds.int(2 ** 32);
    const documents = new Documents(new Random(seed));
    const isStream = seed % 3 !== 0;
    const bytes = documents.damaged(isStream ? documents.stream() : documents.list());
    const cuts = documents.cuts(bytes.length);
    if (misleadsEngines(bytes)) continue;
    try {
      if (isStream) checkStream(decoder, subject.cut, bytes, cuts, report);
      else checkPage(decoder, subject.cut, bytes, cuts, report);
    } catch (cause) {
      const input =
        `${isStream ? 'stream' : 'list'} ` +
        `${JSON.stringify(Buffer.from(bytes).toString('latin1'))}, cut at ${cuts}`;
      throw new Error(
        `${subject.name}, CAPSTAN_SEED=${options.seed}, input ${report.inputs}: ` +
          `${String(cause)}\n${input}`,
        { cause },
      );
    }
  }
  return report;
}

function* pieces(bytes: Uint8Array, cuts: readonly number[]): Generator<Uint8Array> {
  let from = 0;
  for (const to of cuts) {
    // The memory of a chunk is reused after the push, so it is overwritten here.
    const piece = bytes.slice(from, to);
    yield piece;
    piece.fill(0x58);
    from = to;
  }
}

function checkStream(
  decoder: Decoder<object>,
  cut: boolean,
  bytes: Uint8Array,
  cuts: readonly number[],
  report: FuzzReport,
): void {
  const expected = expectedStream(bytes, cut);
  const taken: Frame<object>[] = [];
  const reader = decoder.frames();
  const error = decodeError(() => {
    for (const piece of pieces(bytes, cuts)) {
      reader.push(piece);
      for (let frame = reader.next(); frame !== undefined; frame = reader.next()) taken.push(frame);
    }
  });
  reader.close();
  report.frames += taken.length;
  if (error !== undefined) report.errors++;
  same(taken.map(shown), expected.frames);
  if (expected.end === 'error' && error === undefined)
    throw new Error('the bad frame was no error');
  if (expected.end === 'none' && error !== undefined) throw error;
}

function checkPage(
  decoder: Decoder<object>,
  cut: boolean,
  bytes: Uint8Array,
  cuts: readonly number[],
  report: FuzzReport,
): void {
  const expected = expectedPage(bytes, cut);
  const reader = decoder.page();
  let page: Shown | undefined;
  const error = decodeError(() => {
    for (const piece of pieces(bytes, cuts)) reader.push(piece);
    const { items, resourceVersion, continue: token } = reader.end();
    reader.close();
    page = showPage(
      items.map((item) => objectText(item, false)),
      resourceVersion,
      token,
    );
  });
  reader.close();
  if (error === undefined) report.pages++;
  else report.errors++;
  if (error === undefined) same([page], [expected]);
  else if (expected !== undefined && !mayRefuse(bytes)) throw error;
}

function shown(frame: Frame<object>): Shown {
  switch (frame.type) {
    case 'ERROR':
      return `ERROR ${JSON.stringify(frame.status)}`;
    case 'BOOKMARK':
      return showBookmark(frame.resourceVersion, frame.initialEventsEnd);
    case 'foreign':
    case 'OUTSIDE':
      return frame.type;
    default:
      return showEvent(frame.type, objectText(frame.object, false), frame.resourceVersion);
  }
}

/** The DECODE error of the call, if any; other errors are thrown. */
function decodeError(call: () => void): CapstanError | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    if (error instanceof CapstanError && error.code === 'DECODE') return error;
    throw error;
  }
}

function same(got: readonly (Shown | undefined)[], expected: readonly (Shown | undefined)[]): void {
  const wrong = Math.max(got.length, expected.length);
  for (let at = 0; at < wrong; at++) {
    if (got[at] !== expected[at])
      throw new Error(`number ${at}: expected ${expected[at]}, got ${got[at]}`);
  }
}
