/** Finds what a real server serves and no case requests. */
import type { ParityCase } from './case.ts';

/** A discovery document: `/api/v1`, `/apis/apps/v1`. */
export interface ResourceList {
  groupVersion: string;
  resources: readonly { name: string; namespaced: boolean; verbs: readonly string[] }[];
}

/** Subresources that need a kubelet, or a server behind the API server. */
const BEYOND = /\/(attach|exec|portforward|proxy)$/;

const METHODS: Readonly<Record<string, string>> = {
  ...{
    create: 'POST',
    update: 'PUT',
    patch: 'PATCH',
    delete: 'DELETE',
    deletecollection: 'DELETE',
  },
  ...{ get: 'GET', list: 'GET', watch: 'GET' },
};

/** `apps/v1 deployments list`: the verbs of resources that no case uses. */
export function unasked(served: readonly ResourceList[], cases: readonly ParityCase[]): string[] {
  const asked = new Set(
    cases.flatMap(({ steps }) =>
      steps.map(({ method, path }) => {
        const [plain = '', query = ''] = path.split('?');
        return `${method}${/\bwatch=true\b/.test(query) ? ' watch' : ''} ${plain}`;
      }),
    ),
  );
  const patterns = [...asked];
  return served.flatMap(({ groupVersion, resources }) =>
    resources
      .filter(({ name }) => !BEYOND.test(name))
      .flatMap(({ name, namespaced, verbs }) =>
        verbs
          .filter(
            (verb) =>
              !patterns.some((step) => isAbout(groupVersion, name, namespaced, verb).test(step)),
          )
          .map((verb) => `${groupVersion} ${name} ${verb}`),
      ),
  );
}

function isAbout(groupVersion: string, name: string, namespaced: boolean, verb: string): RegExp {
  const [plural = '', ...subresource] = name.split('/');
  const base = groupVersion.includes('/') ? `/apis/${groupVersion}` : `/api/${groupVersion}`;
  const collection = `${base}${namespaced ? '/namespaces/[^/]+' : ''}/${plural}`;
  const ofObject = subresource.length > 0 || ['get', 'update', 'patch', 'delete'].includes(verb);
  const method = `${METHODS[verb] ?? verb}${verb === 'watch' ? ' watch' : ''}`;
  const path = [collection, ...(ofObject ? ['[^/]+'] : []), ...subresource].join('/');
  return new RegExp(`^${method} ${path.replaceAll('.', '\\.')}$`);
}
