"""OpenMDAO: a component of a NumPy function, with exact partial derivatives. Needs OpenMDAO."""

import numpy as np
import openmdao.api as om

import arraygrad as ag


class Component(om.ExplicitComponent):
    """`f(inputs)`, a function of a dict of arrays that returns a dict of arrays.

    Options are `f`, and the arrays with which `inputs` begin; the shapes of outputs are found by a call.
    """

    def initialize(self):
        self.options.declare("f", types=object)
        self.options.declare("inputs", types=dict)

    def setup(self):
        given = {name: np.asarray(value, dtype=float) for name, value in self.options["inputs"].items()}
        for name, value in given.items():
            self.add_input(name, val=value)
        for name, value in self.options["f"](given).items():
            self.add_output(name, shape=np.shape(value))
        self.declare_partials("*", "*")
        self.jacobian = ag.jacobian(self.options["f"])

    def compute(self, inputs, outputs):
        for name, value in self.options["f"](dict(inputs)).items():
            outputs[name] = value

    def compute_partials(self, inputs, partials):
        for output, by_input in self.jacobian({name: np.array(value) for name, value in inputs.items()}).items():
            for name, block in by_input.items():
                partials[output, name] = np.reshape(block, (-1, inputs[name].size))


def wing(values):
    """Lift and drag of a lifting line with elliptic loading, by span, chord and angle."""
    area = values["span"] * np.mean(values["chord"])
    aspect = values["span"] ** 2 / area
    lift = 2.0 * np.pi * values["angle"] / (1.0 + 2.0 / aspect)
    return {"lift": lift * area, "drag": (0.01 + lift**2 / (np.pi * aspect)) * area}


START = {"span": np.array([8.0]), "chord": np.array([1.2, 1.0, 0.8]), "angle": np.array([0.05])}


def problem():
    """The least drag for a lift of 3, by OpenMDAO's driver for SciPy."""
    prob = om.Problem(reports=False)
    prob.model.add_subsystem("wing", Component(f=wing, inputs=START), promotes=["*"])
    prob.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", disp=False)
    prob.model.add_design_var("angle", lower=0.0, upper=0.2)
    prob.model.add_design_var("span", lower=5.0, upper=12.0)
    prob.model.add_constraint("lift", equals=3.0)
    prob.model.add_objective("drag")
    prob.setup()
    return prob


if __name__ == "__main__":
    prob = problem()
    prob.run_driver()
    print(f"span {prob['span'][0]:.3f}, angle {prob['angle'][0]:.4f}, drag {prob['drag'][0]:.4f}")
