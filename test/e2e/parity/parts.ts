/** Cases of `/status` and `/scale`, and of single writes to the subresources of Pods. */

import type { JsonObject } from '../same-answers/api.ts';
import type { Step } from './case.ts';
import { mutated } from './mutate.ts';
import { nameOf, SAMPLES, sampleOf } from './objects.ts';
import type { SampleKind } from './sample-kind.ts';
import { at, create, type Group, get, PATCHES, pickKind, times } from './steps.ts';

const WITH_STATUS = SAMPLES.filter(({ status }) => status !== undefined);
const WITH_SCALE = SAMPLES.filter(({ scale }) => scale);

export const statuses: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random, WITH_STATUS);
    const status = kind.status as JsonObject;
    const path = `${at(kind)}/status`;
    const whole = (body: JsonObject): JsonObject => ({
      ...sampleOf(kind),
      metadata: { name: nameOf(kind, 'a'), resourceVersion: '{{0.metadata.resourceVersion}}' },
      status: body,
    });
    const write: Step = random.pick<Step>([
      { method: 'PUT', path, body: whole(status) },
      { method: 'PUT', path, body: whole(mutated(random, { status }).status as JsonObject) },
      { method: 'PATCH', path, body: { status }, type: PATCHES.merge },
      { method: 'PATCH', path, body: mutated(random, { status }), type: PATCHES.merge },
      { method: 'PATCH', path, body: { status }, type: PATCHES.strategic },
      {
        method: 'PATCH',
        path,
        body: { status, spec: null, metadata: { labels: { a: 'b' } } },
        type: PATCHES.merge,
      },
      {
        method: 'PATCH',
        path: `${path}?fieldManager=s`,
        type: PATCHES.apply,
        body: {
          apiVersion: kind.apiVersion,
          kind: kind.kind,
          metadata: { name: nameOf(kind, 'a') },
          status,
        },
      },
      { method: 'POST', path, body: whole(status) },
      { method: 'DELETE', path },
      { method: 'GET', path },
    ]);
    return { group: 'status', steps: [create(kind), write, get(kind)] };
  });

export const scales: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random, WITH_SCALE);
    const path = `${at(kind)}/scale`;
    const scale = (spec: unknown, metadata: JsonObject = {}): JsonObject => ({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: nameOf(kind, 'a'), namespace: 'NS', ...metadata },
      spec: spec as JsonObject,
    });
    const replicas = random.pick<unknown>([0, 1, 7, -1, 'x', null, 1.5]);
    const write: Step = random.pick<Step>([
      { method: 'GET', path },
      { method: 'PUT', path, body: scale({ replicas }) },
      { method: 'PUT', path, body: scale({ replicas }, { resourceVersion: '1' }) },
      { method: 'PUT', path, body: { ...scale({ replicas }), kind: 'Other' } },
      { method: 'PATCH', path, body: { spec: { replicas } }, type: PATCHES.merge },
      { method: 'PATCH', path, body: { spec: { replicas } }, type: PATCHES.strategic },
      {
        method: 'PATCH',
        path: `${path}?fieldManager=s`,
        body: scale({ replicas }),
        type: PATCHES.apply,
      },
      {
        method: 'PATCH',
        path: `${path}?dryRun=All`,
        body: { spec: { replicas } },
        type: PATCHES.merge,
      },
      { method: 'DELETE', path },
    ]);
    return { group: 'scale', steps: [create(kind), write, get(kind)] };
  });

const POD = SAMPLES.find(({ kind }) => kind === 'Pod') as SampleKind;
const PDB = SAMPLES.find(({ kind }) => kind === 'PodDisruptionBudget') as SampleKind;
const ACCOUNT = SAMPLES.find(({ kind }) => kind === 'ServiceAccount') as SampleKind;

export const podSubresources: Group = (random, count) =>
  times(count, () => {
    const bare = {
      ...sampleOf(POD),
      spec: { containers: [{ name: 'web', image: 'i', resources: { requests: { cpu: '1' } } }] },
    };
    const labelled = { ...bare, metadata: { name: 'a', labels: { app: 'web' } } };
    const path = at(POD);
    const eviction = (more: JsonObject = {}): JsonObject => ({
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'a', namespace: 'NS' },
      ...more,
    });
    const binding = (more: JsonObject = {}): JsonObject => ({
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'a' },
      target: { apiVersion: 'v1', kind: 'Node', name: 'n' },
      ...more,
    });
    const debug = { name: 'debug', image: 'busybox' };
    const token = (more: JsonObject): Step => ({
      method: 'POST',
      path: `${at(ACCOUNT)}/token`,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', ...more },
    });
    const steps = random.pick<Step[]>([
      [create(POD, labelled), { method: 'POST', path: `${path}/eviction`, body: eviction() }],
      [
        create(POD, labelled),
        {
          method: 'POST',
          path: `${path}/eviction`,
          body: eviction({ deleteOptions: { dryRun: ['All'] } }),
        },
      ],
      [
        create(POD, labelled),
        create(PDB),
        { method: 'POST', path: `${path}/eviction`, body: eviction() },
      ],
      [
        create(POD, labelled),
        { method: 'POST', path: `${path}/eviction`, body: eviction({ metadata: { name: 'b' } }) },
      ],
      [create(POD, labelled), { method: 'POST', path: `${path}/eviction`, body: {} }],
      [{ method: 'POST', path: `${path}/eviction`, body: eviction() }],
      [create(POD, bare), { method: 'POST', path: `${path}/binding`, body: binding() }],
      [
        create(POD, bare),
        { method: 'POST', path: `${path}/binding`, body: binding({ target: { name: '' } }) },
      ],
      [
        create(POD, bare),
        {
          method: 'POST',
          path: `${path}/binding`,
          body: binding({ target: { kind: 'Pod', name: 'n' } }),
        },
      ],
      [create(POD), { method: 'POST', path: '/api/v1/namespaces/NS/bindings', body: binding() }],
      [create(POD, bare), { method: 'GET', path: `${path}/ephemeralcontainers` }],
      [
        create(POD, bare),
        {
          method: 'PATCH',
          path: `${path}/ephemeralcontainers`,
          type: PATCHES.strategic,
          body: { spec: { ephemeralContainers: [debug] } },
        },
      ],
      [
        create(POD, bare),
        {
          method: 'PATCH',
          path: `${path}/ephemeralcontainers`,
          type: PATCHES.strategic,
          body: { spec: { ephemeralContainers: [mutated(random, debug)] } },
        },
      ],
      [
        create(POD, bare),
        {
          method: 'PATCH',
          path: `${path}/ephemeralcontainers`,
          type: PATCHES.merge,
          body: { spec: { containers: [] } },
        },
      ],
      [
        create(POD, bare),
        {
          method: 'PATCH',
          path: `${path}/resize`,
          type: PATCHES.strategic,
          body: { spec: { containers: [{ name: 'web', resources: { requests: { cpu: '2' } } }] } },
        },
      ],
      [
        create(POD, bare),
        {
          method: 'PATCH',
          path: `${path}/resize`,
          type: PATCHES.strategic,
          body: { spec: { containers: [{ name: 'web', image: 'other' }] } },
        },
      ],
      [create(POD, bare), { method: 'GET', path: `${path}/resize` }],
      [create(POD, bare), { method: 'GET', path: `${path}/log` }],
      [create(POD, bare), { method: 'GET', path: `${path}/nothing` }],
      [
        create(POD, bare),
        {
          method: 'PATCH',
          path,
          type: PATCHES.merge,
          body: { spec: { containers: [{ name: 'web', image: 'j' }] } },
        },
      ],
      [
        create(POD, bare),
        { method: 'PATCH', path, type: PATCHES.merge, body: { spec: { nodeName: 'n' } } },
      ],
      [
        create(POD, bare),
        {
          method: 'PATCH',
          path,
          type: PATCHES.merge,
          body: { spec: { activeDeadlineSeconds: 9 } },
        },
      ],
      [create(ACCOUNT), token({ spec: { expirationSeconds: 3600 } })],
      [create(ACCOUNT), token({ spec: { expirationSeconds: 1 } })],
      [create(ACCOUNT), token({ spec: { audiences: ['x'] } })],
      [
        create(ACCOUNT),
        token({
          spec: { audiences: [], boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'no' } },
        }),
      ],
      [create(ACCOUNT), token({})],
      [create(ACCOUNT), token({ spec: {}, kind: 'Other' })],
      [token({ spec: {} })],
      [create(ACCOUNT), { method: 'GET', path: `${at(ACCOUNT)}/token` }],
    ]);
    return { group: 'subresource', steps };
  });
