import { LabIcon } from '@jupyterlab/ui-components';

/** A tree of candidates, one of them chosen. */
export const aideIcon = new LabIcon({
  name: 'aide-jupyter:aide',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="#616161">
    <circle cx="12" cy="4.5" r="3"/>
    <circle cx="5" cy="13" r="2.5"/>
    <path d="M11.4 6.2 6 11.6l1.1 1 5.3-5.4zM12.6 6.2 18 11.6l-1.1 1-5.3-5.4z"/>
    <path d="M19 10.2l4 1.5v2.9c0 3-1.6 5.4-4 6.9-2.4-1.5-4-3.9-4-6.9v-2.9zm-.6 7.7 3-3.1-1-1-2 2.1-.9-.9-1 1z" fill-rule="evenodd"/>
    <path d="M4.3 15h1.4v4.2H4.3z"/>
    <circle cx="5" cy="20.5" r="2"/>
  </g>
</svg>`
});
