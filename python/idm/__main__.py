"""``python -m idm``, the same as the command ``idm``."""

from idm._command import main

raise SystemExit(main())
