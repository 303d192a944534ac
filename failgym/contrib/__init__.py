"""Wrappers for libraries that expect more than Gymnasium does; none is needed by failgym itself.

| module | for | it needs |
|---|---|---|
| `masks` | whoever expects masks in the observation: a Dict of both | nothing more |
| `mo_gymnasium` | MO-Gymnasium: the reward as the vector of its terms | nothing more |
| `minari` | Minari: data sets, with the return of every action beside each decision | minari |
| `off_policy` | estimates of a policy's value from the decisions of another | xgboost |
| `rllib` | RLlib: environments with masks, PPO, its agent as a policy file | ray, torch |

Each is imported by its name (``from failgym.contrib.masks import DictObservation``); ``import
failgym.contrib`` imports none of them.
"""
