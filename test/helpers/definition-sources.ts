/** Definitions for the tests of commands: small ones in the style of the most used operators. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CustomResourceDefinition } from 'capstan/client';
import { root } from './repository.ts';

export const FILES = [
  'argo',
  'cert-manager',
  'cluster-api',
  'crossplane',
  'gateway-api',
  'istio',
  'more-operators',
  'prometheus-operator',
].map((name) => `${root}/test/bin/definitions/${name}.yaml`);

/** A kubeconfig of a server on loopback without TLS, in a folder. */
export function writeKubeconfig(folder: string, url: string): string {
  const path = join(folder, 'kubeconfig.json');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'local',
    clusters: [{ name: 'local', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'local', user: {} }],
    contexts: [{ name: 'local', context: { cluster: 'local', user: 'local' } }],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

type Schema = CustomResourceDefinition['spec']['versions'][number]['schema']['openAPIV3Schema'];

/** A definition of Foxes with a schema of their spec. */
export function foxes(spec: Schema, version = 'v1'): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'foxes.acme.io' },
    spec: {
      group: 'acme.io',
      scope: 'Namespaced',
      names: { kind: 'Fox', plural: 'foxes', singular: 'fox', listKind: 'FoxList' },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  };
}

export const textOfFile = (path: string): string => readFileSync(path, 'utf8');
