/**
 * Makes the built package a later release, for `node --import later-release.ts?VARIANT`. With
 * `fields` its map, moves and Leases have fields that this release does not know. With `format` its
 * map has another form: it reads the form of this release too, and writes its own.
 */
import { registerHooks } from 'node:module';

interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const FIELDS: readonly Edit[] = [
  {
    file: 'shard-map.js',
    from: 'version: VERSION,',
    to: "version: VERSION, more: { by: ['a later release'] },",
  },
  {
    file: 'shard-map.js',
    from: 'slots,\n        moving,',
    to: 'slots,\n        moving: moving.map((move) => ({ ...move, more: 1 })),',
  },
  { file: 'objects.js', from: 'const parts = { epoch,', to: 'const parts = { reads: 2, epoch,' },
];
const FORMAT: readonly Edit[] = [
  { file: 'shard-map.js', from: 'const VERSION = 1;', to: 'const VERSION = 2;' },
  {
    file: 'shard-map.js',
    from: 'map.version !== VERSION',
    to: '(map.version !== 1 && map.version !== VERSION)',
  },
];

const isFormat = new URL(import.meta.url).search === '?format';
const edits = isFormat ? [...FIELDS, ...FORMAT] : FIELDS;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const ours = edits.filter(({ file }) => url.endsWith(`/dist/shards/${file}`));
    if (ours.length === 0) return loaded;
    let source = String(loaded.source);
    for (const { file, from, to } of ours) {
      if (!source.includes(from)) throw new Error(`${file} has no "${from}"`);
      source = source.replace(from, to);
    }
    return { ...loaded, source };
  },
});
