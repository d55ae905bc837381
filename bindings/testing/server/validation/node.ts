/** The rules of RuntimeClasses. kubernetes: pkg/apis/node/validation/validation.go. */
import { dnsLabel } from '../registry/names.ts';
import { labels } from './formats.ts';
import type { Place, RuleTable } from './place.ts';
import { containerResourceName, resourceQuantity } from './resources.ts';
import { tolerations } from './scheduling.ts';

function runtimeClass(object: Place): void {
  const handler = object.at('handler');
  if (handler.need()) handler.matches(dnsLabel);
  const overhead = object.at('overhead');
  // The real server looks at it as at the limits of a container.
  for (const [name, at] of overhead.at('podFixed').entries) {
    const limit = at.as(`overhead.limits[${name}]`);
    containerResourceName(limit, name);
    resourceQuantity(limit, name);
  }
  const where = object.at('scheduling');
  labels(where.at('nodeSelector'));
  tolerations(where.at('tolerations'));
  const members = ['key', 'operator', 'value', 'effect'];
  where
    .at('tolerations')
    .distinct((item) => JSON.stringify(members.map((name) => item.at(name).text)));
  handler.immutable();
}

export const nodeGroup: RuleTable = { 'node.k8s.io/runtimeclasses': { object: runtimeClass } };
