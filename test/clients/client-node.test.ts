/** `@kubernetes/client-node`: the generated APIs and the other clients of the package. */

import { clientNodeSteps } from './client-node/steps.ts';
import { kubeConfigFor } from './servers.ts';
import { clientTests } from './suite.ts';

clientTests({
  name: 'client-node',
  missing: '',
  run: (server) => clientNodeSteps(kubeConfigFor(server, 'client-node')),
});
