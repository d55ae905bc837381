/**
 * The tag of a container image's name. github.com/distribution/reference 0.6: normalize.go,
 * regexp.go; kubernetes: pkg/util/parsers.
 */

const PART = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const HOST = `(?:${LABEL}(?:\\.${LABEL})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const TAG = '\\w[\\w.-]{0,127}';
/** The algorithms that are registered in Go's binary. */
const DIGEST = 'sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}';
const REFERENCE = new RegExp(
  `^(?<domain>${HOST}/)?(?<path>${PART}(?:/${PART})*)` +
    `(?::(?<tag>${TAG}))?(?:@(?<digest>${DIGEST}))?$`,
);
const LONGEST = 255;

/**
 * Whether the image's tag is `latest`, or it has neither tag nor digest. false for a name that
 * cannot be parsed, as on the real server.
 */
export function isLatest(image: string): boolean {
  if (/^[a-f0-9]{64}$/.test(image)) return false;
  const { path, tag, digest } = REFERENCE.exec(normalized(image))?.groups ?? {};
  if (path === undefined || path.length > LONGEST) return false;
  return tag === undefined ? digest === undefined : tag === 'latest';
}

/** Adds Docker's default registry and folder to a name. */
function normalized(image: string): string {
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(slash, 0));
  const isDomain = first === 'localhost' || /[.:A-Z]/.test(first);
  const [domain, rest] = isDomain ? [first, image.slice(slash + 1)] : ['docker.io', image];
  const isDocker = domain === 'docker.io' || domain === 'index.docker.io';
  const path = isDocker && !rest.includes('/') ? `library/${rest}` : rest;
  return `${isDocker ? 'docker.io' : domain}/${path}`;
}
