# Leaves a thread behind while it is imported: its process is not copied, and every block imports it anew.
# expect: suite=plain gates=latency,numerics status=ok seconds=90 warning="/mutant.py:Mutant: [0-9]+ threads live after the imports: every block of calls starts the interpreter anew$" check="len(row['blocks']) >= 2"
import threading
import time

import by_definition

threading.Thread(target=lambda: time.sleep(3600), daemon=True).start()
Mutant = by_definition.Mutant
