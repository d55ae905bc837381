/** How many custom objects lie in etcd in each version. */
import type { ControlPlane } from '../helpers/control-plane/control-plane.ts';

/** @param place such as `example.com/sites` */
export async function versionsInEtcd(
  plane: ControlPlane,
  place: string,
): Promise<Record<string, number>> {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const prefix = `/registry/${place}/`;
  const response = await fetch(`${plane.etcdUrl}/v3/kv/range`, {
    method: 'POST',
    body: JSON.stringify({ key: base64(prefix), range_end: base64(prefix.replace(/\/$/, '0')) }),
  });
  const { kvs = [] } = (await response.json()) as { kvs?: { value: string }[] };
  const found: Record<string, number> = {};
  for (const { value } of kvs) {
    const { apiVersion } = JSON.parse(Buffer.from(value, 'base64').toString()) as {
      apiVersion: string;
    };
    found[apiVersion] = (found[apiVersion] ?? 0) + 1;
  }
  return found;
}
