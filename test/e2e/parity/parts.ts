/** Cases about `/status`, `/scale`, and single writes to subresources of Pods. */

import type { JsonObject } from '../same-answers/api.ts';
import type { RequestStep } from './case.ts';
import { mutated } from './mutate.ts';
import { SAMPLES, sampleName, sampleOf } from './objects.ts';
import type { SampleKind } from './sample-kind.ts';
import { createStep, type Group, getStep, objectPath, PATCHES, pickKind, times } from './steps.ts';

const WITH_STATUS = SAMPLES.filter(({ status }) => status !== undefined);
const WITH_SCALE = SAMPLES.filter(({ scale }) => scale);

export const statuses: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random, WITH_STATUS);
    const status = kind.status as JsonObject;
    const path = `${objectPath(kind)}/status`;
    const whole = (body: JsonObject): JsonObject => ({
      ...sampleOf(kind),
      metadata: { name: sampleName(kind, 'a'), resourceVersion: '{{0.metadata.resourceVersion}}' },
      status: body,
    });
    const write: RequestStep = random.pick<RequestStep>([
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
          metadata: { name: sampleName(kind, 'a') },
          status,
        },
      },
      { method: 'POST', path, body: whole(status) },
      { method: 'DELETE', path },
      { method: 'GET', path },
    ]);
    return { group: 'status', steps: [createStep(kind), write, getStep(kind)] };
  });

export const scales: Group = (random, count) =>
  times(count, () => {
    const kind = pickKind(random, WITH_SCALE);
    const path = `${objectPath(kind)}/scale`;
    const scale = (spec: unknown, metadata: JsonObject = {}): JsonObject => ({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: sampleName(kind, 'a'), namespace: 'NS', ...metadata },
      spec: spec as JsonObject,
    });
    const replicas = random.pick<unknown>([0, 1, 7, -1, 'x', null, 1.5]);
    const write: RequestStep = random.pick<RequestStep>([
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
    return { group: 'scale', steps: [createStep(kind), write, getStep(kind)] };
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
    const path = objectPath(POD);
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
    const token = (more: JsonObject): RequestStep => ({
      method: 'POST',
      path: `${objectPath(ACCOUNT)}/token`,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', ...more },
    });
    const steps = random.pick<RequestStep[]>([
      [createStep(POD, labelled), { method: 'POST', path: `${path}/eviction`, body: eviction() }],
      [
        createStep(POD, labelled),
        {
          method: 'POST',
          path: `${path}/eviction`,
          body: eviction({ deleteOptions: { dryRun: ['All'] } }),
        },
      ],
      [
        createStep(POD, labelled),
        createStep(PDB),
        { method: 'POST', path: `${path}/eviction`, body: eviction() },
      ],
      [
        createStep(POD, labelled),
        { method: 'POST', path: `${path}/eviction`, body: eviction({ metadata: { name: 'b' } }) },
      ],
      [createStep(POD, labelled), { method: 'POST', path: `${path}/eviction`, body: {} }],
      [{ method: 'POST', path: `${path}/eviction`, body: eviction() }],
      [createStep(POD, bare), { method: 'POST', path: `${path}/binding`, body: binding() }],
      [
        createStep(POD, bare),
        { method: 'POST', path: `${path}/binding`, body: binding({ target: { name: '' } }) },
      ],
      [
        createStep(POD, bare),
        {
          method: 'POST',
          path: `${path}/binding`,
          body: binding({ target: { kind: 'Pod', name: 'n' } }),
        },
      ],
      [
        createStep(POD),
        { method: 'POST', path: '/api/v1/namespaces/NS/bindings', body: binding() },
      ],
      [createStep(POD, bare), { method: 'GET', path: `${path}/ephemeralcontainers` }],
      [
        createStep(POD, bare),
        {
          method: 'PATCH',
          path: `${path}/ephemeralcontainers`,
          type: PATCHES.strategic,
          body: { spec: { ephemeralContainers: [debug] } },
        },
      ],
      [
        createStep(POD, bare),
        {
          method: 'PATCH',
          path: `${path}/ephemeralcontainers`,
          type: PATCHES.strategic,
          body: { spec: { ephemeralContainers: [mutated(random, debug)] } },
        },
      ],
      [
        createStep(POD, bare),
        {
          method: 'PATCH',
          path: `${path}/ephemeralcontainers`,
          type: PATCHES.merge,
          body: { spec: { containers: [] } },
        },
      ],
      [
        createStep(POD, bare),
        {
          method: 'PATCH',
          path: `${path}/resize`,
          type: PATCHES.strategic,
          body: { spec: { containers: [{ name: 'web', resources: { requests: { cpu: '2' } } }] } },
        },
      ],
      [
        createStep(POD, bare),
        {
          method: 'PATCH',
          path: `${path}/resize`,
          type: PATCHES.strategic,
          body: { spec: { containers: [{ name: 'web', image: 'other' }] } },
        },
      ],
      [createStep(POD, bare), { method: 'GET', path: `${path}/resize` }],
      [createStep(POD, bare), { method: 'GET', path: `${path}/log` }],
      [createStep(POD, bare), { method: 'GET', path: `${path}/nothing` }],
      [
        createStep(POD, bare),
        {
          method: 'PATCH',
          path,
          type: PATCHES.merge,
          body: { spec: { containers: [{ name: 'web', image: 'j' }] } },
        },
      ],
      [
        createStep(POD, bare),
        { method: 'PATCH', path, type: PATCHES.merge, body: { spec: { nodeName: 'n' } } },
      ],
      [
        createStep(POD, bare),
        {
          method: 'PATCH',
          path,
          type: PATCHES.merge,
          body: { spec: { activeDeadlineSeconds: 9 } },
        },
      ],
      [createStep(ACCOUNT), token({ spec: { expirationSeconds: 3600 } })],
      [createStep(ACCOUNT), token({ spec: { expirationSeconds: 1 } })],
      [createStep(ACCOUNT), token({ spec: { audiences: ['x'] } })],
      [
        createStep(ACCOUNT),
        token({
          spec: { audiences: [], boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'no' } },
        }),
      ],
      [createStep(ACCOUNT), token({})],
      [createStep(ACCOUNT), token({ spec: {}, kind: 'Other' })],
      [token({ spec: {} })],
      [createStep(ACCOUNT), { method: 'GET', path: `${objectPath(ACCOUNT)}/token` }],
    ]);
    return { group: 'subresource', steps };
  });
