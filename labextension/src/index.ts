import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IStateDB } from '@jupyterlab/statedb';

import { Api } from './api';
import { Aide } from './model';
import { IAide } from './tokens';

const model: JupyterFrontEndPlugin<IAide> = {
  id: 'aide-jupyter:model',
  description: 'What the page knows of runs.',
  autoStart: true,
  provides: IAide,
  optional: [IStateDB],
  activate: (app: JupyterFrontEnd, memory: IStateDB | null) => {
    const { serverSettings, events } = app.serviceManager;
    const aide = new Aide(new Api(serverSettings), events, memory);
    void app.restored.then(() => aide.begin());
    return aide;
  }
};

export default [model];
