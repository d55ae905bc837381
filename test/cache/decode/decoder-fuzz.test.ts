/** Ten thousand damaged inputs for each decoder; `npm run fuzz` tries a million. */
import { describe, expect, test } from 'vitest';
import { testSeed } from '../../helpers/random.ts';
import { fuzz } from '../fuzz/fuzz.ts';
import { subjects } from '../fuzz/subjects.ts';

const INPUTS = 10_000;

describe.each(subjects.map((subject) => [subject.name, subject] as const))(
  'of the decoder by %s',
  (_, subject) => {
    test('every frame before the first bad byte is decoded, and the bad one is an error', () => {
      const seed = testSeed();
      console.log(`decoder fuzz, ${subject.name}: CAPSTAN_SEED=${seed}`);
      const report = fuzz(subject, { seed, inputs: INPUTS });
      // Checks the generator: most streams have complete frames, and many are damaged.
      expect(report.frames).toBeGreaterThan(INPUTS / 2);
      expect(report.pages).toBeGreaterThan(INPUTS / 20);
      expect(report.errors).toBeGreaterThan(INPUTS / 10);
    });

    const event = (object: string): Uint8Array =>
      new TextEncoder().encode(`{"type":"MODIFIED","object":${object}}\n`);

    // Found by this fuzz: such an event got the object of the event before it, or trapped if that
    // had been freed.
    test.each(['["x"]', '1', 'null', '"a"'])(
      'an event whose object is %s is an error, whatever came before it',
      (object) => {
        const reader = subject.decoder().frames();
        reader.push(event('{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a"}}'));
        expect(reader.next()).toMatchObject({ type: 'MODIFIED' });
        reader.push(event(object));
        expect(() => reader.next()).toThrow(expect.objectContaining({ code: 'DECODE' }));
        reader.close();
      },
    );

    // Found by this fuzz: the kind of the items was not read if the list began with the usual kind,
    // so that another kind after the items was refused here and accepted by the JSON decoder.
    test('a list with a second kind after its items is accepted by their kind', () => {
      const reader = subject.decoder().page();
      const item = '{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a"}}';
      const head = '"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":"1"}';
      reader.push(new TextEncoder().encode(`{${head},"items":[${item}],"kind":"Things"}`));
      expect(reader.end().items).toHaveLength(1);
      reader.close();
    });

    // Found by this fuzz: only one of the two was removed from the bytes.
    test('repeated managedFields are dropped like single ones', () => {
      const reader = subject.decoder().frames();
      reader.push(
        event('{"metadata":{"name":"a","managedFields":[1],"labels":{},"managedFields":[2]}}'),
      );
      const { object } = reader.next() as { object: object };
      const metadata = { name: 'a', ...(subject.cut ? {} : { managedFields: [2] }), labels: {} };
      expect(JSON.stringify(object)).toBe(
        JSON.stringify({ kind: 'Thing', apiVersion: 'v1', metadata }),
      );
      reader.close();
    });
  },
);
