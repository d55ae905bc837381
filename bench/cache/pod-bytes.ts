/**
 * The Pods of peers/pods.mjs as bytes, made fast enough to send ten thousand a second: the text of
 * one Pod is split where Pods differ. Also whole lists and watch streams of them, in chunks that
 * end anywhere, as those of a socket do.
 */
import { Random } from '../../test/helpers/random.ts';
import { pod } from '../peers/pods.mjs';

/** One change of one Pod. The versions follow that of the list. */
export interface Update {
  pod: number;
  version: number;
  node: number;
}

export const NODES = 1000;
const CHUNK_BYTES = 65_536;

const FIELDS = ['name', 'namespace', 'uid', 'version', 'app', 'node'] as const;
type Field = (typeof FIELDS)[number];

/** Texts at even places, names of fields at odd ones. */
const pieces = template();

function template(): string[] {
  const one = pod(0);
  const mark = (field: Field): string => `@${field}@`;
  one.metadata.name = mark('name');
  one.metadata.namespace = mark('namespace');
  one.metadata.uid = mark('uid');
  one.metadata.resourceVersion = mark('version');
  one.metadata.labels.app = mark('app');
  one.spec.nodeName = mark('node');
  const cut = JSON.stringify(one).split(new RegExp(`@(${FIELDS.join('|')})@`));
  if (cut.length !== 2 * FIELDS.length + 1)
    throw new Error(`the Pod has ${cut.length} pieces: a field stands twice`);
  return cut;
}

/** The same text as `JSON.stringify(pod(i, version, node))`, of about 4.7 KB. */
export function podText(i: number, version: number, node: number): string {
  const hex = i.toString(16);
  const values: Record<string, string> = {
    name: `web-frontend-${hex.padStart(8, '0')}`,
    namespace: namespaceOf(i),
    uid: `8f1f9a1e-1c2b-4b3c-9d4e-${hex.padStart(12, '0')}`,
    version: String(version),
    app: `app-${i % 500}`,
    node: `node-${node}`,
  };
  let text = pieces[0] as string;
  for (let at = 1; at < pieces.length; at += 2)
    text += (values[pieces[at] as string] as string) + pieces[at + 1];
  return text;
}

const namespaceOf = (i: number): string => `team-${i % 200}`;

export const keyOf = (i: number): string =>
  `${namespaceOf(i)}/web-frontend-${i.toString(16).padStart(8, '0')}`;

/** Updates of random Pods, always the same ones; each also moves the Pod to another node. */
export function randomUpdates(live: number): () => Update {
  const random = new Random(1);
  let version = live;
  return () => {
    version++;
    return { pod: random.int(live), version, node: (version * 7) % NODES };
  };
}

export function frameText({ pod: i, version, node }: Update): string {
  return `{"type":"MODIFIED","object":${podText(i, version, node)}}\n`;
}

/**
 * A list of the Pods from `from` on, `count` of them, as a kube-apiserver writes it. Pod i has
 * version i + 1 until it is changed.
 */
export function* listTexts(
  from: number,
  count: number,
  version: number,
  token = '',
  textOf = (i: number): string => podText(i, i + 1, i % NODES),
): Generator<string> {
  const rest = token === '' ? '' : `,"continue":${JSON.stringify(token)}`;
  const metadata = `"metadata":{"resourceVersion":"${version}"${rest}}`;
  yield `{"kind":"PodList","apiVersion":"v1",${metadata},"items":[`;
  for (let i = from; i < from + count; i++) yield `${i === from ? '' : ','}${textOf(i)}`;
  yield ']}\n';
}

/** The bytes of the texts, cut into pieces of 64 KiB. */
export function* chunksOf(texts: Iterable<string>): Generator<Uint8Array> {
  let chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  let used = 0;
  for (const text of texts) {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) {
      const copied = bytes.copy(chunk, used, at);
      at += copied;
      used += copied;
      if (used < CHUNK_BYTES) continue;
      yield chunk;
      chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      used = 0;
    }
  }
  if (used > 0) yield chunk.subarray(0, used);
}
