/** Finds the programs etcd and kube-apiserver. */
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { environmentVariable } from '../../base/environment.ts';
import { CapstanError } from '../../base/errors.ts';

/** The paths of the programs. */
export interface Assets {
  etcd: string;
  apiServer: string;
}

/** controller-runtime: pkg/envtest, defaultAssetsPath. */
const DEFAULT_FOLDER = '/usr/local/kubebuilder/bin';

const HOW_TO =
  "controller-runtime's setup-envtest downloads both and prints their folder: export " +
  'KUBEBUILDER_ASSETS=$(setup-envtest use -p path). The guide "Tests on a real API server" has ' +
  'the steps.';

/**
 * The programs in `folder`, in that of KUBEBUILDER_ASSETS, or in /usr/local/kubebuilder/bin.
 *
 * @throws CapstanError ENVTEST_BINARIES
 */
export function assets(folder?: string | undefined): Assets {
  const named = environmentVariable('KUBEBUILDER_ASSETS');
  const [where, origin] =
    folder !== undefined && folder !== ''
      ? [folder, 'the option assets']
      : named !== undefined && named !== ''
        ? [named, 'KUBEBUILDER_ASSETS']
        : [DEFAULT_FOLDER, 'the default, as KUBEBUILDER_ASSETS is not set'];
  const find = (name: string): string => {
    const path = join(where, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch (cause) {
      throw new CapstanError(
        'ENVTEST_BINARIES',
        `expected the programs etcd and kube-apiserver in ${where} (${origin}), but ${name} is ` +
          `missing there or cannot be executed. ${HOW_TO}`,
        { cause },
      );
    }
  };
  return { etcd: find('etcd'), apiServer: find('kube-apiserver') };
}
