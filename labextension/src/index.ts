import { JupyterFrontEndPlugin } from '@jupyterlab/application';

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'aide-jupyter:plugin',
  description: 'The side panel of aide-jupyter: runs, their candidates, and their review.',
  autoStart: true,
  activate: () => undefined
};

export default plugin;
