/** Specs with all defaults set, so that the exchanges do not depend on defaulting. */
import type { JsonObject } from './api.ts';

export const defaultedContainer = (name: string, fields: JsonObject = {}): JsonObject => ({
  name,
  image: 'image:1',
  resources: {},
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  imagePullPolicy: 'Always',
  ...fields,
});

export const podSpec = (containers: JsonObject[], fields: JsonObject = {}): JsonObject => ({
  containers,
  restartPolicy: 'Always',
  terminationGracePeriodSeconds: 30,
  dnsPolicy: 'ClusterFirst',
  securityContext: {},
  schedulerName: 'default-scheduler',
  ...fields,
});

export const template = (containers: JsonObject[], fields: JsonObject = {}): JsonObject => ({
  metadata: { labels: { app: 'a' } },
  spec: podSpec(containers, fields),
});

export const jobSpec: JsonObject = {
  parallelism: 1,
  completions: 1,
  backoffLimit: 6,
  manualSelector: true,
  selector: { matchLabels: { app: 'a' } },
  template: template([defaultedContainer('a')], { restartPolicy: 'Never' }),
  completionMode: 'NonIndexed',
  suspend: false,
  podReplacementPolicy: 'TerminatingOrFailed',
};

export const deploymentSpec = (fields: JsonObject = {}): JsonObject => ({
  replicas: 2,
  selector: { matchLabels: { app: 'a' } },
  template: template([defaultedContainer('a')]),
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
  revisionHistoryLimit: 10,
  progressDeadlineSeconds: 600,
  ...fields,
});
