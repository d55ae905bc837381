/** Equality as apimachinery has it: the vectors are its answers about objects of built-in kinds. */
import { deepDerivative, parseQuantity, semanticEqual } from 'capstan/apimachinery';
import { Deployment, Pod } from 'capstan/kinds';
import { describe, expect, it } from 'vitest';
import { vectors } from '../helpers/apimachinery-vectors.ts';

interface Question {
  apiVersion: string;
  kind: string;
  first: object;
  second: object;
}
type Answer = { equal: boolean; derivative: boolean; error?: string };

const asked = vectors<Question, Answer>('equality').filter(([, { error }]) => error === undefined);
const typed = ({ apiVersion, kind }: Question, object: object) => ({ apiVersion, kind, ...object });

/** Whether `b` sets a number or boolean that `a` lacks: Go compares that with 0. */
function setsMore(a: unknown, b: unknown): boolean {
  if (a === null || a === undefined) {
    if (typeof b === 'object' && b !== null)
      return !Array.isArray(b) && Object.values(b).some((value) => setsMore(undefined, value));
    return b !== undefined && b !== '' && b !== null;
  }
  if (typeof a !== 'object' || typeof b !== 'object' || b === null) return false;
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].some((name) =>
    setsMore((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]),
  );
}

describe('semanticEqual', () => {
  it('answers as apimachinery about objects of built-in kinds', () => {
    const wrong = asked.filter(
      ([question, { equal }]) =>
        semanticEqual(typed(question, question.first), typed(question, question.second)) !== equal,
    );
    expect(wrong.slice(0, 2)).toEqual([]);
    expect(asked.length).toBeGreaterThan(1000);
  });

  it('is the same for both orders, and true for an object and itself', () => {
    for (const [question] of asked) {
      const [a, b] = [typed(question, question.first), typed(question, question.second)];
      expect(semanticEqual(a, b)).toBe(semanticEqual(b, a));
      expect(semanticEqual(a, structuredClone(a))).toBe(true);
    }
  });

  it.each([
    [
      'a quantity',
      { limits: { cpu: '1000m' } },
      { limits: { cpu: '1' } },
      'ResourceRequirements',
      true,
    ],
    [
      'a number as a quantity',
      { limits: { cpu: 1 } },
      { limits: { cpu: '1' } },
      'ResourceRequirements',
      true,
    ],
    [
      'a Quantity',
      { limits: { cpu: parseQuantity('1') } },
      { limits: { cpu: '1' } },
      'ResourceRequirements',
      true,
    ],
    [
      'another quantity',
      { limits: { cpu: '1' } },
      { limits: { cpu: '1100m' } },
      'ResourceRequirements',
      false,
    ],
    ['an empty list', { containers: [] }, {}, 'PodSpec', true],
    ['false', { hostNetwork: false }, {}, 'PodSpec', true],
    ['a pointer to 0', { replicas: 0 }, {}, 'DeploymentSpec', false],
    ['a pointer to a struct', { emptyDir: {} }, {}, 'Volume', false],
    ['a struct', { name: 'a', resources: {} }, { name: 'a' }, 'Container', true],
    ['a moment', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00+01:00', 'Time', true],
    [
      'microseconds',
      '2026-01-01T00:00:00.000001Z',
      '2026-01-01T00:00:00.000002Z',
      'MicroTime',
      false,
    ],
    ['a Date', new Date(0), '1970-01-01T00:00:00Z', 'Time', true],
    ['null', { name: null }, {}, 'Container', true],
    ['the order of a list', { args: ['a', 'b'] }, { args: ['b', 'a'] }, 'Container', false],
  ])('compares %s', (_, a, b, type, equal) => {
    expect(semanticEqual(a, b, { type })).toBe(equal);
  });

  it('takes a resource for objects without kind, as items of lists are', () => {
    const pod = (cpu: string) => ({
      spec: { containers: [{ name: 'a', resources: { limits: { cpu } } }] },
    });
    expect(semanticEqual(pod('1000m'), pod('1'))).toBe(false);
    expect(semanticEqual(pod('1000m'), pod('1'), { type: Pod })).toBe(true);
    const whole = { apiVersion: 'v1', kind: 'Pod', ...pod('1') };
    expect(semanticEqual(whole, pod('1000m'), { type: Pod })).toBe(true);
  });

  it('knows metadata of custom resources, and the parts that it is told of', () => {
    const website = (size: string, cpu: string, labels?: object) => ({
      apiVersion: 'example.com/v1',
      kind: 'Website',
      metadata: { name: 'a', ...(labels && { labels }) },
      spec: { size, pools: { a: { limits: { cpu } } }, hosts: [] },
    });
    const types = { 'spec.size': 'Quantity', 'spec.pools.*': 'ResourceRequirements' };
    const [a, b] = [website('1Gi', '1', {}), website('1024Mi', '1000m')];
    expect(semanticEqual(a, b)).toBe(false);
    expect(semanticEqual(a, b, { types })).toBe(true);
    expect(semanticEqual(a, website('1Gi', '2'), { types })).toBe(false);
    expect(semanticEqual(website('1', '1', {}), website('1', '1'))).toBe(true);
    expect(semanticEqual({ spec: {} }, {})).toBe(false); // it may be a pointer
    expect(semanticEqual({ spec: [] }, {})).toBe(true);
    expect(semanticEqual(a, { ...a, kind: undefined })).toBe(true);
  });

  it('refuses types that there are not', () => {
    expect(() => semanticEqual({}, {}, { type: 'PodSpek' })).toThrow(
      '"options.type" expected a type',
    );
    expect(() => semanticEqual({}, {}, { types: { 'spec.a': 'Nothing' } })).toThrow(
      '"options.types["spec.a"]" expected a type',
    );
    expect(() => semanticEqual({}, {}, { type: Pod, types: {} })).toThrow(
      'none for a built-in type',
    );
    expect(() => semanticEqual({}, {}, { typ: Pod } as never)).toThrow('did you mean');
  });
});

describe('deepDerivative', () => {
  it('answers as apimachinery, but leaves out numbers that are absent', () => {
    const wrong = asked.filter(([question, { derivative }]) => {
      const [a, b] = [typed(question, question.first), typed(question, question.second)];
      const answer = deepDerivative(a, b);
      return answer !== derivative && !(answer && setsMore(question.first, question.second));
    });
    expect(wrong.slice(0, 2)).toEqual([]);
    expect(asked.filter(([, { derivative }]) => derivative).length).toBeGreaterThan(300);
  });

  it('finds what a server has added, and no change of what was wanted', () => {
    const wanted = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: { replicas: 2, paused: false },
    };
    const found = {
      spec: { replicas: 2, paused: false, minReadySeconds: 3 },
      status: { replicas: 1 },
    };
    expect(deepDerivative(wanted, found, { type: Deployment })).toBe(true);
    expect(deepDerivative({ replicas: 0 }, { replicas: 2 }, { type: 'DeploymentSpec' })).toBe(
      false,
    );
    expect(deepDerivative(found, wanted, { type: Deployment })).toBe(false);
    expect(deepDerivative({ a: '', b: [], c: [1] }, { a: 'x', c: [1, 2] })).toBe(true);
  });
});
