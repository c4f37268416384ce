"""The server half of the JupyterLab product: runs that outlive the browser, REST, and a socket a page."""
