/**
 * Schemas as validators: what is denied on create and on update, and what was wrong before and did
 * not change, which is not.
 */
import { defineCustomResource } from 'capstan/client';
import { AdmissionDenied, type AdmissionRequest, schemaValidator } from 'capstan/webhook';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { expectError } from '../helpers/expect-error.ts';
import { timeRatio } from '../helpers/growth.ts';

const port = z.object({ name: z.string(), number: z.int().refine((n) => n % 2 === 0, 'odd') });
const Site = defineCustomResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: z.object({
    host: z.string().refine((host) => host.endsWith('.example'), 'no example'),
    ports: z.array(port).optional(),
    labels: z
      .record(
        z.string(),
        z.string().refine((value) => value !== 'bad', 'bad'),
      )
      .optional(),
    size: z.int().optional(),
  }),
});
type Spec = {
  host: string;
  ports?: { name: string; number: number }[];
  labels?: Record<string, string>;
  size?: number;
};
const site = (spec: Spec) => ({
  apiVersion: 'example.com/v1',
  kind: 'Site',
  metadata: { name: 'a' },
  spec,
});
const request = {} as AdmissionRequest<ReturnType<typeof site>>;
const validator = schemaValidator(Site);

async function denial(run: Promise<void> | void | undefined) {
  const error = await Promise.resolve(run).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error === undefined) return undefined;
  expect(error).toBeInstanceOf(AdmissionDenied);
  return error as AdmissionDenied;
}
const fields = async (old: Spec, now: Spec, options?: { ratcheting: boolean }) =>
  (
    await denial(schemaValidator(Site, options).validateUpdate?.(site(old), site(now), request))
  )?.causes.map(({ field }) => field);

describe('a schema as a validator', () => {
  test('denies a new object with 422 and the path of each issue', async () => {
    expect(await denial(validator.validateCreate?.(site({ host: 'a.example' }), request))).toBe(
      undefined,
    );
    const error = await denial(
      validator.validateCreate?.(
        site({ host: 'a.com', ports: [{ name: 'http', number: 1 }] }),
        request,
      ),
    );
    expect(error).toMatchObject({
      status: 422,
      reason: 'Invalid',
      message: 'Site is not valid: spec.host: no example; spec.ports[0].number: odd',
      causes: [
        { field: 'spec.host', message: 'no example', reason: 'FieldValueInvalid' },
        { field: 'spec.ports[0].number', message: 'odd', reason: 'FieldValueInvalid' },
      ],
    });
  });

  test('does not ask about deletions', () => {
    expect(validator).not.toHaveProperty('validateDelete');
  });

  test('lets an update change the rest of an object that is wrong', async () => {
    expect(await fields({ host: 'a.com' }, { host: 'a.com', size: 1 })).toBe(undefined);
    expect(await fields({ host: 'a.com' }, { host: 'b.com' })).toEqual(['spec.host']);
    expect(await fields({ host: 'a.example' }, { host: 'a.com' })).toEqual(['spec.host']);
  });

  test('denies what an update adds to what was wrong', async () => {
    const old = { host: 'a.com', ports: [{ name: 'http', number: 1 }] };
    const now = { ...old, ports: [...old.ports, { name: 'https', number: 3 }] };
    expect(await fields(old, now)).toEqual(['spec.ports[1].number']);
    expect(await fields(old, { ...old, ports: [{ name: 'other', number: 1 }] })).toBe(undefined);
  });

  test('lets items of lists move, each once', async () => {
    const bad = { name: 'http', number: 1 };
    const good = { name: 'https', number: 2 };
    const host = 'a.example';
    const denied = (old: (typeof bad)[], now: (typeof bad)[]) =>
      fields({ host, ports: old }, { host, ports: now });
    expect(await denied([good, bad], [bad])).toBe(undefined);
    expect(await denied([bad], [good, bad])).toBe(undefined);
    expect(await denied([bad, good, bad], [good, bad, bad])).toBe(undefined);
    expect(await denied([bad], [good, bad, bad])).toEqual(['spec.ports[2].number']);
    expect(await denied([good, bad], [bad, bad])).toEqual(['spec.ports[0].number']);
    const other = { ...bad, name: 'other' };
    expect(await denied([good, bad], [other])).toEqual(['spec.ports[0].number']);
  });

  test('takes time that grows with the number of issues, and tells the first twenty', async () => {
    const timeOf = async (count: number): Promise<number> => {
      const ports = (from: number) =>
        Array.from({ length: count }, (_, i) => ({ name: 'p', number: 2 * (from + i) + 1 }));
      const began = performance.now();
      const denied = await fields(
        { host: 'a.example', ports: ports(0) },
        { host: 'a.example', ports: ports(count / 2) },
      );
      expect(denied).toHaveLength(20);
      return performance.now() - began;
    };
    const ratio = await timeRatio(
      60,
      () => timeOf(20_000),
      () => timeOf(2000),
    );
    expect(ratio).toBeLessThan(60); // ten times as many
  });

  test('finds members whose names have dots and brackets', async () => {
    const labels = { 'a.b/c[0]': 'bad', 'a.b': 'good', a: 'good' };
    expect(await fields({ host: 'a.example', labels }, { host: 'b.example', labels })).toBe(
      undefined,
    );
    expect(
      await fields(
        { host: 'a.example', labels: { 'a.b': 'good' } },
        { host: 'a.example', labels: { 'a.b': 'bad' } },
      ),
    ).toEqual(['spec.labels.a.b']);
  });

  test('without ratcheting denies all that is wrong', async () => {
    expect(
      await fields({ host: 'a.com' }, { host: 'a.com', size: 1 }, { ratcheting: false }),
    ).toEqual(['spec.host']);
  });

  test('a member that was missing before may still be missing', async () => {
    const old = { size: 1 } as unknown as Spec;
    expect(await fields(old, { size: 2 } as unknown as Spec)).toBe(undefined);
    expect(await fields({ host: 'a.example' }, old)).toEqual(['spec.host']);
  });

  test('checks what it is made of', () => {
    expectError(() => schemaValidator({} as never), 'INVALID_ARGUMENT', 'custom.validate');
    expectError(
      () => schemaValidator(Site, { ratchet: false } as never),
      'INVALID_ARGUMENT',
      'ratcheting',
    );
  });
});
