/** Strategic merge patches: the vectors are those that apimachinery makes from the same states. */
import { strategicMergeFrom } from 'capstan/apimachinery';
import { defineResource } from 'capstan/cache';
import { ConfigMap, Deployment, Pod, Service } from 'capstan/kinds';
import { describe, expect, it } from 'vitest';
import { builtInType } from '../../bindings/apimachinery/built-in.ts';
import type { JsonObject } from '../../bindings/base/json-value.ts';
import { strategicPatch } from '../../bindings/testing/server/patch/strategic.ts';
import { vectors } from '../helpers/apimachinery-vectors.ts';

interface Question {
  apiVersion: string;
  kind: string;
  first: JsonObject;
  second: JsonObject;
}
interface Answer {
  patch: object;
  applied: object;
  error?: string;
}

const asked = vectors<Question, Answer>('patches').filter(([, { error }]) => error === undefined);

function resourceFor({ apiVersion, kind }: Question) {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  return defineResource<object>()({ group, version, kind, plural: 'any', namespaced: true });
}

describe('strategicMergeFrom', () => {
  it('makes the patches of apimachinery', () => {
    const wrong = asked.flatMap(([question, answer]) => {
      const { first, second } = question;
      const { body } = strategicMergeFrom(resourceFor(question), first).to(second) as {
        body: object;
      };
      try {
        expect(body).toEqual(answer.patch);
        return [];
      } catch {
        return [{ first, second, body, patch: answer.patch }];
      }
    });
    expect(wrong.slice(0, 1)).toEqual([]);
    expect(asked.length).toBeGreaterThan(500);
  });

  it('makes patches that give the second state', () => {
    for (const [question] of asked) {
      const { apiVersion, kind, first, second } = question;
      const type = builtInType(apiVersion, kind);
      if (type === undefined) throw new Error(kind);
      const { body } = strategicMergeFrom(resourceFor(question), first).to(second) as {
        body: object;
      };
      const applied = strategicPatch(type, first, body as JsonObject);
      expect(withoutEmpty(applied)).toEqual(withoutEmpty(second));
    }
  });

  it('replaces lists whose items share a key', () => {
    const port = (protocol: string) => ({ port: 53, protocol, name: protocol.toLowerCase() });
    const service = { metadata: { name: 'dns' }, spec: { ports: [port('UDP'), port('TCP')] } };
    const base = strategicMergeFrom(Service, service);
    const ports = [port('TCP'), { port: 80 }];
    const patch = base.to({ ...service, spec: { ports } });
    expect(patch).toEqual({
      type: 'strategic',
      body: { spec: { ports: [...ports, { $patch: 'replace' }] } },
    });
  });

  it('is not changed by what happens to the first state, and has a version on request', () => {
    const map = { metadata: { name: 'a', resourceVersion: '7' }, data: { a: '1' } };
    const base = strategicMergeFrom(ConfigMap, map, { optimisticLock: true });
    map.data.a = '2';
    expect(base.to(map)).toEqual({
      type: 'strategic',
      body: { metadata: { resourceVersion: '7' }, data: { a: '2' } },
    });
  });

  it('keeps managedFields, kind and apiVersion, which a cache may leave out', () => {
    const pod = { metadata: { name: 'a', managedFields: [{}] }, spec: { containers: [] } };
    const base = strategicMergeFrom(Pod, { apiVersion: 'v1', kind: 'Pod', ...pod });
    expect(base.to({ metadata: { name: 'a' }, spec: { containers: [] } })).toEqual({
      type: 'strategic',
      body: {},
    });
  });

  it('refuses custom resources, nulls and a missing version', () => {
    const custom = defineResource<object>()({
      ...{ group: 'example.com', version: 'v1', kind: 'Website' },
      ...{ plural: 'websites', namespaced: true },
    });
    expect(() => strategicMergeFrom(custom, {})).toThrow('use mergeFrom');
    expect(() => strategicMergeFrom(Pod, {}, { optimisticLock: true })).toThrow(
      'for optimisticLock',
    );
    const base = strategicMergeFrom(Deployment, { metadata: { name: 'a' } });
    expect(() => base.to({ spec: { replicas: null } } as never)).toThrow(
      '"modified.spec.replicas" expected no null',
    );
    expect(() => strategicMergeFrom({} as never, {})).toThrow('"resource" expected');
  });
});

/** A patch cannot make a map or list empty that was not there. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [name, withoutEmpty(member)] as const)
      .filter(([, member]) => typeof member !== 'object' || Object.keys(member ?? {}).length > 0),
  );
}
