/**
 * Where etcd and kube-apiserver are. A missing folder is an error that says what to do, never a
 * skipped test: a run that tests nothing must not be green.
 */
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

export interface Assets {
  etcd: string;
  apiServer: string;
}

export function assets(folder: string | undefined = process.env.KUBEBUILDER_ASSETS): Assets {
  if (folder === undefined || folder === '') {
    throw new Error(
      'KUBEBUILDER_ASSETS is not set, so nothing was tested: the end-to-end tests run ' +
        'on a real API server. Set it to a folder that holds the programs etcd and ' +
        'kube-apiserver (envtest and setup-envtest make one).',
    );
  }
  return { etcd: executable(folder, 'etcd'), apiServer: executable(folder, 'kube-apiserver') };
}

function executable(folder: string, name: string): string {
  const path = join(folder, name);
  try {
    accessSync(path, constants.X_OK);
  } catch (cause) {
    throw new Error(`KUBEBUILDER_ASSETS is ${folder}, but there is no program ${name} in it`, {
      cause,
    });
  }
  return path;
}
