/**
 * Warnings about files in a volume whose paths overlap. kubernetes: pkg/api/pod/warnings.go
 * warningsForOverlappingVirtualPaths.
 */
import type { Place, Warn } from '../validation/place.ts';

interface File {
  path: string;
  /** `Secret "keys"`; '' if the volume has one source. */
  source: string;
}

const shown = ({ path, source }: File): string =>
  source === '' ? JSON.stringify(path) : `${JSON.stringify(path)} (${source})`;

const filesOf = (items: Place, source: string): File[] =>
  items.items.map((item) => ({ path: item.at('path').text, source }));

const named = (what: string, name: Place): string => `${what} ${JSON.stringify(name.text)}`;

export function overlappingPaths(volumes: Place, warn: Warn): void {
  for (const volume of volumes.items) {
    const name = JSON.stringify(volume.at('name').text);
    const [config, secret] = [volume.at('configMap'), volume.at('secret')];
    const kinds: [what: string, items: Place][] = [
      [named('ConfigMap', config.at('name')), config.at('items')],
      [named('Secret', secret.at('secretName')), secret.at('items')],
      ['DownwardAPI', volume.at('downwardAPI').at('items')],
    ];
    for (const [what, items] of kinds)
      overlaps(filesOf(items, ''), [], (why) =>
        warn(undefined, `volume ${name} (${what}): overlapping paths: ${why}`),
      );
    const seen: File[] = [];
    for (const source of volume.in('projected.sources').items) {
      if (source.isEmpty) warn(undefined, `volume ${name} (Projected) has no sources provided`);
      overlaps(filesIn(source), seen, (why) =>
        warn(undefined, `volume ${name} (Projected): overlapping paths: ${why}`),
      );
    }
  }
}

function filesIn(source: Place): File[] {
  const [config, secret, token] = [
    source.at('configMap'),
    source.at('secret'),
    source.at('serviceAccountToken'),
  ];
  const [bundle, certificate] = [source.at('clusterTrustBundle'), source.at('podCertificate')];
  if (config.at('items').isSet)
    return filesOf(config.at('items'), named('ConfigMap', config.at('name')));
  if (secret.at('items').isSet)
    return filesOf(secret.at('items'), named('Secret', secret.at('name')));
  if (source.in('downwardAPI.items').isSet)
    return filesOf(source.in('downwardAPI.items'), 'DownwardAPI');
  if (token.isSet) return [{ path: token.at('path').text, source: 'ServiceAccountToken' }];
  if (bundle.isSet) {
    const name = bundle.at('name').isSet ? bundle.at('name') : bundle.at('signerName');
    return [{ path: bundle.at('path').text, source: named('ClusterTrustBundle', name) }];
  }
  return [
    ['certificateChainPath', 'PodCertificate chain'],
    ['keyPath', 'PodCertificate key'],
    ['credentialBundlePath', 'PodCertificate credential bundle'],
  ].flatMap(([member = '', what = '']) =>
    certificate.at(member).isEmpty ? [] : [{ path: certificate.at(member).text, source: what }],
  );
}

/** @param seen files of earlier sources, to which these are added */
function overlaps(files: readonly File[], seen: File[], tell: (why: string) => void): void {
  for (const { path, source } of files) {
    const file = { path: path.replace(/\/+$/, ''), source };
    for (const other of seen)
      if (file.path !== '' && other.path !== '' && isWithin(file.path, other.path))
        tell(`${shown(file)} with ${shown(other)}`);
    seen.push(file);
  }
}

const isWithin = (a: string, b: string): boolean =>
  `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`);
