/** A custom resource with one required member, for tests that install its definition. */
import { defineCustomResource } from 'capstan/client';
import * as z from 'zod';

export const { crd, resource } = defineCustomResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Website',
  scope: 'Namespaced',
  spec: z.object({ host: z.string() }),
  indexers: { byHost: 'spec.host' },
});
